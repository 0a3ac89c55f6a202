// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package processid

// startID returns no StartID, because this platform does not support it.
func startID(int) string { return "" }

func hasExited(Process) bool { return false }
