// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package process

// startID is empty: this platform does not tell a process from a later one with the same
// number.
func startID(int) string { return "" }

func hasExited(Process) bool { return false }
