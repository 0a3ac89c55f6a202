// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package uploaderplugin

import (
	"os/exec"
	"syscall"
)

// processGroup is a process with all processes that it starts.
type processGroup struct{ cmd *exec.Cmd }

// newProcessGroup makes a process that is not started yet the first one of a group.
func newProcessGroup(cmd *exec.Cmd) processGroup {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return processGroup{cmd}
}

// terminate tells the processes to end.
func (g processGroup) terminate() error { return syscall.Kill(-g.cmd.Process.Pid, syscall.SIGTERM) }

// kill kills the processes that still run.
func (g processGroup) kill() {
	if g.cmd.Process != nil {
		_ = syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL) // it fails if none of them runs any more
	}
}
