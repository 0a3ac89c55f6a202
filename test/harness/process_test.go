// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"testing"
)

// startShell starts a shell with a script instead of helm.
func startShell(t *testing.T, script string) *Process {
	t.Helper()
	return (&Helm{TB: t}).StartBinary(t, "/bin/sh", "none", "-c", script)
}

// TestAwaitLine checks that AwaitLine finds the lines of a process in order.
func TestAwaitLine(t *testing.T) {
	t.Parallel()
	p := startShell(t, "echo printed; echo one >&2; echo two 2 >&2; echo three >&2; exit 3")
	p.AwaitLine(t, "one")
	if line, found := p.NextLine("two"); !found || line != "two 2" {
		t.Errorf("got %q, %v", line, found)
	}
	p.AwaitLine(t, "three")
	if line, found := p.NextLine("one"); found {
		t.Errorf("a line was found again: %q", line)
	}
	if r := p.ExpectExit(t, 3, "one", "two 2", "three"); r.Stdout != "printed\n" || r.Stderr != "one\ntwo 2\nthree\n" {
		t.Errorf("got %+v", r)
	}
}

// TestKill checks the result of a process that was killed.
func TestKill(t *testing.T) {
	t.Parallel()
	p := startShell(t, "echo begun >&2; exec sleep 1000")
	p.AwaitLine(t, "begun")
	p.Kill()
	p.ExpectExit(t, -1)
	p.Kill()
}
