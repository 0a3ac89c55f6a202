// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package helm4 checks what docs/helm-4.md says about the charts that Helm 4 can render, install
// and lint. The tests of releases that both programs change are in test/e2e/interop.
package helm4

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/harness"
)

const page = "docs/helm-4.md"

// readTable reads the table with this header from the page. The keys are the first column, and
// the values the others. If the second column is "commands", which lists commands, there is a
// key for each of them, such as "chart | lint".
func readTable(t *testing.T, header string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(binaries.Root(t), filepath.FromSlash(page)))
	harness.NoError(t, err)
	_, after, found := strings.Cut(string(text), "\n"+header+"\n")
	if !found {
		t.Fatalf("%s has no table %s", page, header)
	}
	rows := map[string][]string{}
	for i, line := range strings.Split(after, "\n") {
		if !strings.HasPrefix(line, "|") {
			break
		}
		if i == 0 {
			continue // the line between the header and the rows
		}
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if !strings.Contains(header, "| commands |") {
			rows[cells[0]] = cells[1:]
			continue
		}
		for command := range strings.SplitSeq(cells[1], ", ") {
			rows[cells[0]+" | "+command] = cells[2:]
		}
	}
	return rows
}
