// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package process

import "syscall"

// childAttributes returns attributes with which a child has its own process group, so that
// Ctrl-C reaches only the supervisor.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// onFirstThread returns false, because children do not end with their parent thread on this
// system.
func onFirstThread() bool { return false }

// DetachedAttributes returns attributes with which a process is detached from the terminal and
// the session of the process that starts it.
func DetachedAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true}
}
