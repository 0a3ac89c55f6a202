// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package parity

import (
	"errors"
	"os"
)

func openTerminal() (ours, theirs *os.File, err error) { return nil, nil, errors.ErrUnsupported }

func isEchoing(*os.File) (bool, error) { return false, errors.ErrUnsupported }
