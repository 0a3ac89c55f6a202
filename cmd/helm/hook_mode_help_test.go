// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

// TestHelpNamesParallelHooks checks that the help of each command that runs or prints hooks
// names the field of Chart.yaml that lets hooks run in parallel.
func TestHelpNamesParallelHooks(t *testing.T) {
	for _, command := range []string{"install", "upgrade", "rollback", "uninstall", "test", "template", "dag"} {
		if got := runHelm(t, command, "--help"); got.code != 0 || !strings.Contains(got.stdout, "runHooksInParallel") {
			t.Errorf("helm %s --help: %+v", command, got)
		}
	}
}
