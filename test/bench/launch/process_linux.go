// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// peakMemory is the most memory that a process had at a time, in MiB.
func peakMemory(p *os.ProcessState) float64 {
	if usage, ok := p.SysUsage().(*syscall.Rusage); ok {
		return float64(usage.Maxrss) / 1024
	}
	return 0
}

// dieWithParent has the kernel end a command when the thread that starts it ends,
// which is this one and stays.
func dieWithParent(cmd *exec.Cmd) {
	runtime.LockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
