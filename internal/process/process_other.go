// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package process

// birth is not known: there is no way to tell a process from a later one that has
// its number.
func birth(int) string { return "" }

func isGone(Process) bool { return false }
