// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package process

import "syscall"

// childAttributes returns attributes with which a child has its own process group, so that
// Ctrl-C reaches only the supervisor, and is killed by the kernel when its parent thread ends.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// onFirstThread reports whether this is the program's first thread.
func onFirstThread() bool { return syscall.Gettid() == syscall.Getpid() }

// DetachedAttributes returns attributes with which a process is detached from the terminal and
// the session of the process that starts it.
func DetachedAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true}
}
