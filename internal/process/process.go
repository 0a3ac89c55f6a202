// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package process identifies processes that work on a release, and checks whether they have
// exited.
package process

import "os"

// Process identifies a process on a machine.
type Process struct {
	// Host is the hostname of the machine or container.
	Host string `json:"host"`
	PID  int    `json:"pid"`
	// StartID distinguishes the process from all others with the same process ID, at any
	// time and on any machine. It is empty if the platform does not support it.
	StartID string `json:"birth,omitempty"`
}

// Current returns the current process.
func Current() Process {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return Process{Host: host, PID: os.Getpid(), StartID: startID(os.Getpid())}
}

// HasExited reports whether the process has certainly exited. It returns false if the
// process is on another machine or is not visible from here.
func (p Process) HasExited() bool { return p.StartID != "" && p.PID > 0 && hasExited(p) }
