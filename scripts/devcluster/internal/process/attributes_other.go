// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package process

import "syscall"

func childAttributes() *syscall.SysProcAttr { return nil }

// onFirstThread returns false, because children do not end with their parent thread on this
// system.
func onFirstThread() bool { return false }

// DetachedAttributes returns nil, because processes cannot be detached on this system.
func DetachedAttributes() *syscall.SysProcAttr { return nil }
