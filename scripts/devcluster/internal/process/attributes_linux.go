// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package process

import "syscall"

// childAttributes puts a child into its own process group, so that Ctrl-C only reaches the
// supervisor, and makes the kernel kill the child when its parent ends.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// onFirstThread reports whether this is the program's first thread.
func onFirstThread() bool { return syscall.Gettid() == syscall.Getpid() }

// DetachedAttributes detaches a process from the terminal and the session of the process
// that starts it.
func DetachedAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true}
}
