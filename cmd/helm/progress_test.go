// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTimelineFile checks that a timeline file that cannot be written is rejected before the
// operation starts, and that an operation that does not start leaves no file.
func TestTimelineFile(t *testing.T) {
	chart := writeChart(t, map[string]string{"Chart.yaml": orderedChart, "templates/layers.yaml": layers, "values.yaml": ""})
	const before = "what somebody keeps here"
	dir := t.TempDir()
	kept := filepath.Join(dir, "kept.html")
	if err := os.WriteFile(kept, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	unreachable := "Kubernetes cluster unreachable"
	for _, tt := range []struct{ name, file, says string }{
		{"no such directory", filepath.Join(dir, "none", "t.html"), "--timeline: open "},
		{"a directory", t.TempDir() + "/.html/", "--timeline: "},
		{"neither page nor data", filepath.Join(dir, "t.txt"), "must end in .html or .json"},
		{"an operation that did not begin", filepath.Join(dir, "new.html"), unreachable},
		{"one that did not begin, and a file", kept, unreachable},
	} {
		for _, command := range []string{"install shop " + chart, "upgrade shop " + chart, "rollback shop", "uninstall shop", "test shop"} {
			t.Run(tt.name+", "+strings.Fields(command)[0], func(t *testing.T) {
				got := runHelm(t, append(strings.Fields(command), "--timeline", tt.file)...)
				if got.code == 0 || !strings.Contains(got.stderr, tt.says) {
					t.Errorf("got %+v", got)
				}
				entries, err := os.ReadDir(dir)
				if err != nil || len(entries) != 1 {
					t.Errorf("%v are left: %v", entries, err)
				}
				if text, err := os.ReadFile(kept); err != nil || string(text) != before {
					t.Errorf("the file holds %q: %v", text, err)
				}
			})
		}
	}
}
