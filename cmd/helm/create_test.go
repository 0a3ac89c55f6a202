// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCreateFormat creates charts in both formats, and checks that lint accepts them, that
// Chart.yaml keeps the comments of Helm's, and that all other files are the same.
func TestCreateFormat(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range [][]string{{"flat/shop"}, {"flat/web", "--format", "v2"}, {"new/shop", "--format", "helm.sh/v3"}, {"from/web", "--starter", filepath.Join(pwd(t), "new", "shop")}} {
		if err := os.MkdirAll(filepath.Dir(args[0]), 0o755); err != nil {
			t.Fatal(err)
		}
		if got := runHelm(t, append([]string{"create"}, args...)...); got.code != 0 || got.stdout != "Creating "+args[0]+"\n" {
			t.Fatalf("create %s: %+v", args, got)
		}
		if got := runHelm(t, "lint", args[0], "--strict", "-o", "json"); got.code != 0 || strings.Count(got.stdout, `"rule"`) != 1 {
			t.Errorf("lint %s: %+v", args[0], got)
		}
		version := "apiVersion: helm.sh/v3\nkind: Chart\nmetadata:\n"
		if strings.HasPrefix(args[0], "flat") {
			version = "apiVersion: v2\nname: "
		}
		if text := readFile(t, args[0]+"/Chart.yaml"); !strings.HasPrefix(text, version) {
			t.Errorf("%s:\n%s", args[0], text)
		}
	}
	if text := readFile(t, "new/shop/Chart.yaml"); !strings.Contains(text, "\n    # This is the chart version") || !strings.Contains(text, "\n    appVersion: \"1.16.0\"\n") {
		t.Errorf("got:\n%s", text)
	}
	for _, name := range []string{"values.yaml", ".helmignore", "templates/deployment.yaml", "templates/tests/test-connection.yaml"} {
		if readFile(t, "flat/shop/"+name) != readFile(t, "new/shop/"+name) {
			t.Errorf("%s differs", name)
		}
	}
	if got := runHelm(t, "create", "other", "--format", "v1"); got.code == 0 || !strings.Contains(got.stderr, "must be one of: v2, helm.sh/v3") {
		t.Errorf("unknown format: %+v", got)
	}
	if got := runHelm(t, "__complete", "create", "other", "--format", ""); !strings.Contains(got.stdout, "v2\tas stock Helm writes it\nhelm.sh/v3\ta Kubernetes resource\n") {
		t.Errorf("completion: %+v", got)
	}
}

func pwd(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
