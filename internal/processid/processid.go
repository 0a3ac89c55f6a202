// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package processid identifies processes that deploy or uninstall releases, and checks whether
// they have exited. Package orderrecord stores the identity of the process that holds the
// lock of a release.
package processid

import "os"

// Process identifies a process uniquely, even across machines.
type Process struct {
	// Host is the hostname of the machine or container.
	Host string `json:"host"`
	PID  int    `json:"pid"`
	// StartID distinguishes the process from processes that have the same process ID on
	// another machine or at another time. It is empty if the platform does not support it.
	StartID string `json:"birth,omitempty"`
}

// Current returns the identity of the current process.
func Current() Process {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return Process{Host: host, PID: os.Getpid(), StartID: startID(os.Getpid())}
}

// HasExited reports whether the process has certainly exited. It returns false if that is
// unknown, for example because the process runs on another machine or in another container.
func (p Process) HasExited() bool { return p.StartID != "" && p.PID > 0 && hasExited(p) }
