// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package process

import "syscall"

func childAttributes() *syscall.SysProcAttr { return nil }

// onFirstThread matters only where children end with their parent thread.
func onFirstThread() bool { return false }

// DetachedAttributes frees a process from the terminal and the session of
// the process that starts it, where the system knows of such.
func DetachedAttributes() *syscall.SysProcAttr { return nil }
