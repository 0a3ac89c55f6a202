// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package modules checks the requirements in the go.mod files. The main module must not
// require modules that only tests need, because they would be in the module graph of every
// program that uses the SDK.
package modules

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/binaries"
)

// run runs the go command in a directory, and returns the lines of its output.
func run(t *testing.T, dir string, env []string, args ...string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), append(env, "GOWORK=off")...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, &stderr)
	}
	return slices.Compact(strings.Split(strings.TrimSpace(string(out)), "\n"))
}

// requirement is a required module in a go.mod file.
type requirement struct {
	Path, Version string
	Indirect      bool
}

func requirements(t *testing.T, dir string) []requirement {
	t.Helper()
	var file struct{ Require []requirement }
	text := strings.Join(run(t, dir, nil, "mod", "edit", "-json"), "\n")
	if err := json.Unmarshal([]byte(text), &file); err != nil {
		t.Fatal(err)
	}
	return file.Require
}

// TestMainModuleHasNoTestRequirements checks that helm or the SDK uses a package of each
// module that the main module requires, on at least one platform.
func TestMainModuleHasNoTestRequirements(t *testing.T) {
	t.Parallel()
	root := binaries.Root(t)
	used := make(map[string]bool)
	for _, system := range []string{"linux", "darwin", "windows"} {
		env := []string{"GOOS=" + system, "CGO_ENABLED=0"}
		for _, path := range run(t, root, env, "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./...") {
			used[path] = true
		}
	}
	for _, r := range requirements(t, root) {
		if !used[r.Path] {
			t.Errorf("go.mod requires %s, which only tests use: move them into the module test, or drop it and run go mod tidy", r.Path)
		}
	}
}

// TestModuleGraphHasNoTestDependencies checks that modules that only the module test requires
// are not in the module graph of a program that imports the SDK.
func TestModuleGraphHasNoTestDependencies(t *testing.T) {
	t.Parallel()
	root := binaries.Root(t)
	const ours, helms = "github.com/ordered-helm/helm", "helm.sh/helm/v3"
	wanted := make(map[string]string)
	for _, r := range requirements(t, root) {
		wanted[r.Path] = r.Version
	}
	graph := graphOfProgram(t, fmt.Sprintf("require %s v0.0.0\nreplace %s => %s\n", ours, ours, root))
	helmsGraph := graphOfProgram(t, fmt.Sprintf("require %s %s\n", helms, wanted[helms]))
	if !graph[helms] || !helmsGraph["k8s.io/client-go"] {
		t.Fatalf("the module graphs are not complete: %v\n%v", graph, helmsGraph)
	}
	for _, r := range requirements(t, filepath.Join(root, "test")) {
		if wanted[r.Path] == "" && r.Path != ours && graph[r.Path] && !helmsGraph[r.Path] {
			t.Errorf("the module graph of programs with the SDK has %s, which is for tests", r.Path)
		}
	}
}

// graphOfProgram returns the modules in the module graph of a module with the given
// requirements.
func graphOfProgram(t *testing.T, requires string) map[string]bool {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/program\n\ngo 1.26.0\n\n"+requires), 0o600); err != nil {
		t.Fatal(err)
	}
	graph := make(map[string]bool)
	for _, path := range run(t, dir, []string{"GOFLAGS=-mod=mod"}, "list", "-m", "-f", "{{.Path}}", "all") {
		graph[path] = true
	}
	return graph
}

// TestTestsUseMainModuleVersions checks that the module test selects the same versions of
// modules as the main module, so that tests use the same code as helm.
func TestTestsUseMainModuleVersions(t *testing.T) {
	t.Parallel()
	root := binaries.Root(t)
	versions := make(map[string]string)
	for _, line := range run(t, filepath.Join(root, "test"), nil, "list", "-m", "-f", "{{.Path}} {{.Version}}", "all") {
		path, version, _ := strings.Cut(line, " ")
		versions[path] = version
	}
	for _, r := range requirements(t, root) {
		if got := versions[r.Path]; got != "" && got != r.Version {
			t.Errorf("tests use %s %s, helm uses %s: require the same version in go.mod and test/go.mod", r.Path, got, r.Version)
		}
	}
}
