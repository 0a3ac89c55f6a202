// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package launch

import (
	"os"
	"os/exec"
)

// peakMemory returns 0, because the peak memory is known only on Linux.
func peakMemory(*os.ProcessState) float64 { return 0 }

// dieWithParent does nothing, because only Linux supports it.
func dieWithParent(*exec.Cmd) {}
