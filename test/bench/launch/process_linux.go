// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// peakMemory returns the peak memory of a process, in MiB.
func peakMemory(p *os.ProcessState) float64 {
	if usage, ok := p.SysUsage().(*syscall.Rusage); ok {
		return float64(usage.Maxrss) / 1024
	}
	return 0
}

// dieWithParent makes the kernel kill a command when the thread that starts it ends. The
// caller must start the command on a thread that outlives it.
func dieWithParent(cmd *exec.Cmd) {
	runtime.LockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
