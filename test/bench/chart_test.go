// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"os"
	"path/filepath"
	"testing"
)

// Chart.yaml of charts whose annotations for the order apply, and of charts without an order.
const (
	orderedChart = plainChart + "annotations: {helm.sh/sequencing: enabled}\n"
	plainChart   = "apiVersion: v2\nname: bench\nversion: 0.1.0\n"
)

// writeChart writes a chart with one template, whose annotations for the order apply.
func writeChart(b *testing.B, template string) string {
	b.Helper()
	return writeFiles(b, map[string]string{"Chart.yaml": orderedChart, "templates/all.yaml": template})
}

// writeFiles writes files to a new directory. The keys of the map are their paths.
func writeFiles(b *testing.B, files map[string]string) (dir string) {
	b.Helper()
	dir = b.TempDir()
	for file, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return dir
}
