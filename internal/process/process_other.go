// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package process

// startID combines the boot ID, the PID namespace and the start time of a process.
func startID(int) string { return "" }

func hasExited(Process) bool { return false }
