// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package process identifies the processes that deploy or uninstall releases, and checks
// whether they have exited. Package orderrecord stores them in leases.
package process

import "os"

// Process identifies a process, also for other machines.
type Process struct {
	// Host is the hostname of the machine or container.
	Host string `json:"host"`
	PID  int    `json:"pid"`
	// StartID distinguishes the process from all others that have the same process ID on
	// another machine or at another time. It is empty if the platform does not support it.
	StartID string `json:"birth,omitempty"`
}

// Current returns the Process of the running program.
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
