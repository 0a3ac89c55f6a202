// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import "syscall"

// dieWithParent returns attributes with which the kernel kills a child process when the thread
// that started it ends, so that a build does not outlive a test that is killed.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
