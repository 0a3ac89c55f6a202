// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

// Update is the flag -update of go test: golden files are written instead of compared.
var Update = flag.Bool("update", false, "write the golden files anew")

// WriteGolden writes a text to a golden file.
func WriteGolden(tb testing.TB, path, text string) {
	tb.Helper()
	NoError(tb, os.MkdirAll(filepath.Dir(path), 0o755))
	NoError(tb, os.WriteFile(path, []byte(text), 0o600))
}
