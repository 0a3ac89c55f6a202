// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package process

import "syscall"

// childAttributes puts a child into a group of its own, so that Ctrl-C
// reaches the supervisor alone.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// onFirstThread matters only where children end with their parent thread.
func onFirstThread() bool { return false }

// DetachedAttributes frees a process from the terminal and the session of
// the process that starts it.
func DetachedAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true}
}
