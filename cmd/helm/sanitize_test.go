// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestChartsWithControlCharacters checks that control characters in a chart are not
// printed in messages about it.
func TestChartsWithControlCharacters(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"Chart.yaml": "apiVersion: v3\nname: shop\nversion: 1.0.0\n",
		"templates/a.yaml": "kind: \"K\\e]0;title\\a\"\nmetadata:\n  name: \"a\\e[31mred\"\n" +
			"  annotations: {helm.sh/layer: x, depends-on.helm.sh/layers: nope}\n---\n" +
			"{{ if .Values.twice }}kind: \"K\\e]0;title\\a\"\nmetadata: {name: \"a\\e[31mred\"}{{ end }}\n",
	} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, args := range map[string][]string{
		"dag": {"dag", dir}, "lint": {"lint", dir}, "an error": {"dag", dir, "--set", "twice=true"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errOut strings.Builder
			code := run(context.Background(), args, &out, &errOut)
			if (code != 0) != (name == "an error") {
				t.Errorf("exit code %d", code)
			}
			if text := out.String() + errOut.String(); strings.ContainsAny(text, "\x1b\a") || !strings.Contains(text, "red") {
				t.Errorf("got %q", text)
			}
		})
	}
}
