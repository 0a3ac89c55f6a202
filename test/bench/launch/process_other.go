// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package launch

import (
	"os"
	"os/exec"
)

// peakMemory is 0: it is only known on Linux.
func peakMemory(*os.ProcessState) float64 { return 0 }

// dieWithParent does nothing: only Linux can.
func dieWithParent(*exec.Cmd) {}
