// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recorder is a testing.TB that only records whether the test failed.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func TestAssert(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file.txt")
	if err := os.WriteFile(file, []byte("one\r\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, got, file, fails string }{
		{name: "equal", got: "one\ntwo\n", file: file},
		{name: "different", got: "one\nthree\n", file: file, fails: "-two\n+three\n"},
		{name: "carriage returns in the output", got: "one\r\ntwo\n", file: file, fails: "+one\r\n"},
		{name: "no file", got: "one\n", file: file + "x", fails: "-update"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &recorder{TB: t}
			Assert(r, tt.got, tt.file)
			if got := strings.Join(r.errors, "\n"); (got == "") != (tt.fails == "") || !strings.Contains(got, tt.fails) {
				t.Errorf("failed with %q, want %q in it", got, tt.fails)
			}
		})
	}
}

func TestUpdate(t *testing.T) {
	*update = true
	defer func() { *update = false }()
	file := filepath.Join(t.TempDir(), "folder", "file.txt")
	Assert(t, "text\n", file)
	if got, err := os.ReadFile(file); err != nil || string(got) != "text\n" {
		t.Errorf("the file has %q, %v", got, err)
	}
}
