// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package process

import "syscall"

// childAttributes puts a child into a group of its own, so that Ctrl-C
// reaches the supervisor alone, and has the kernel kill it with its parent.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// onFirstThread reports whether this is the thread that the program began with.
func onFirstThread() bool { return syscall.Gettid() == syscall.Getpid() }

// DetachedAttributes frees a process from the terminal and the session of
// the process that starts it.
func DetachedAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true}
}
