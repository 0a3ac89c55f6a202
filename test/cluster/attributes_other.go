// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package cluster

import "syscall"

func dieWithParent() *syscall.SysProcAttr { return nil }
