// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package process

import "syscall"

// childAttributes puts a child into its own process group, so that Ctrl-C only reaches the
// supervisor.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// onFirstThread is only relevant if children end with their parent thread.
func onFirstThread() bool { return false }

// DetachedAttributes detaches a process from the terminal and the session of the process
// that starts it.
func DetachedAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true}
}
