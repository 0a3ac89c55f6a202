// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

func TestDescribe(t *testing.T) {
	got := describe(component{Type: "application", Ref: "binary", Name: "helm"}, &debug.BuildInfo{
		GoVersion: "go1.26.1",
		Deps: []*debug.Module{
			{Path: "example.com/a", Version: "v1.2.3+incompatible", Sum: "h1:a"},
			{Path: "example.com/b", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/c", Version: "v2.0.0", Sum: "h1:c"}},
		},
	})
	std, a, c := "pkg:golang/std@1.26.1", "pkg:golang/example.com/a@v1.2.3%2Bincompatible", "pkg:golang/example.com/c@v2.0.0"
	want := bom{
		Format: "CycloneDX", Spec: "1.6", Version: 1,
		Metadata: metadata{component{Type: "application", Ref: "binary", Name: "helm"}},
		Components: []component{
			{Type: "library", Ref: std, Name: "std", Version: "1.26.1", PURL: std},
			{Type: "library", Ref: a, Name: "example.com/a", Version: "v1.2.3+incompatible", PURL: a, Properties: []property{{"go.sum", "h1:a"}}},
			{Type: "library", Ref: c, Name: "example.com/c", Version: "v2.0.0", PURL: c, Properties: []property{{"go.sum", "h1:c"}}},
		},
		Dependencies: []dependency{{Ref: "binary", Uses: []string{std, a, c}}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

// TestRun describes the test's own binary.
func TestRun(t *testing.T) {
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var first, second bytes.Buffer
	for _, out := range []*bytes.Buffer{&first, &second} {
		if err := run([]string{"-version", "v1.2.3", binary}, out); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("the same binary gives two texts")
	}
	var got bom
	if err := json.Unmarshal(first.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	c := got.Metadata.Component
	if c.Name != "helm" || c.Version != "v1.2.3" || len(c.Hashes) != 1 || len(c.Hashes[0].Content) != 64 || c.Properties[0].Value != runtime.GOOS+"/"+runtime.GOARCH {
		t.Errorf("got %+v", c)
	}
	if got.Components[0].PURL != "pkg:golang/std@"+strings.TrimPrefix(runtime.Version(), "go") {
		t.Errorf("got %+v", got.Components[0])
	}
}

func TestRunErrors(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no binary"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"nothing": {nil, "usage"}, "two": {[]string{"a", "b"}, "usage"}, "what is not there": {[]string{text + "s"}, "no such file"},
		"what is no binary": {[]string{text}, "read the build information of " + text},
	} {
		if err := run(c.args, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
}
