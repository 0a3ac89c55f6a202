// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package golden compares the output of tests with expected output in files, which are usually
// in the directory testdata of the test's package.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	udiff "github.com/aymanbagabas/go-udiff"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// Assert fails the test if got differs from the content of the golden file. name is the path
// of the file, absolute or relative to testdata. If the test runs with the flag -update,
// Assert writes got to the file instead.
func Assert(tb testing.TB, got, name string) {
	tb.Helper()
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join("testdata", name)
	}
	if *update {
		write(tb, path, got)
		return
	}
	content, err := os.ReadFile(path)
	if err != nil {
		tb.Errorf("%v: run the test with -update to write it", err)
		return
	}
	// On Windows, Git may check out text files with CRLF.
	want := strings.ReplaceAll(string(content), "\r\n", "\n")
	if got != want {
		tb.Errorf("the output differs from the golden file; run the test with -update to accept it:\n%s",
			udiff.Unified(path, "output", want, got))
	}
}

func write(tb testing.TB, path, text string) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		tb.Fatal(err)
	}
}
