// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package postgres

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
)

func attributes() (*syscall.SysProcAttr, error) {
	return nil, fmt.Errorf("a PostgreSQL of the test's own on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}
