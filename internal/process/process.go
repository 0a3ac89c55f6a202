// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package process tells processes apart that work on a release, and whether one that
// did is gone.
package process

import "os"

// Process is a process on some machine.
type Process struct {
	// Host is the name of the machine, or of the container, as it calls itself.
	Host string `json:"host"`
	PID  int    `json:"pid"`
	// StartID tells the process from all others that ever had its number, on any
	// machine; it is empty where that cannot be told.
	StartID string `json:"birth,omitempty"`
}

// Current is this process.
func Current() Process {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return Process{Host: host, PID: os.Getpid(), StartID: startID(os.Getpid())}
}

// HasExited reports whether the process has surely ended. It can only tell where the
// process ran on this machine, among the processes that are seen from here; of all
// others it is false.
func (p Process) HasExited() bool { return p.StartID != "" && p.PID > 0 && hasExited(p) }
