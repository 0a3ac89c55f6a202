// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package progress

import (
	"errors"
	"os"
)

// openTerminal is only implemented on Linux.
func openTerminal(_, _ uint16) (keyboard, screen *os.File, err error) {
	return nil, nil, errors.ErrUnsupported
}
