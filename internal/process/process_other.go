// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package process

// startID returns Process.StartID, which is not supported on this platform.
func startID(int) string { return "" }

func hasExited(Process) bool { return false }
