// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package architecture checks that the code agrees with docs/architecture.md: which
// packages may import which, and that the files named on the page exist.
package architecture

import (
	"errors"
	"go/build"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	root   = "../.."
	page   = "docs/architecture.md"
	module = "github.com/ordered-helm/helm/"
)

// goPackage is a package of the product.
type goPackage struct {
	// name is its path in the module.
	name string
	// imports are the packages of the module that it imports.
	imports []string
}

// productPackages lists the packages of the product.
func productPackages(t *testing.T) []goPackage {
	t.Helper()
	var packages []goPackage
	for _, dir := range []string{"cmd", "pkg", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return err
			}
			if entry.Name() == "testdata" {
				return fs.SkipDir
			}
			found, err := build.ImportDir(path, 0)
			if noGo := (*build.NoGoError)(nil); errors.As(err, &noGo) {
				return nil
			}
			if err != nil {
				return err
			}
			name, err := filepath.Rel(root, path)
			packages = append(packages, goPackage{filepath.ToSlash(name), inModule(found.Imports)})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return packages
}

// inModule returns the import paths that belong to the module.
func inModule(paths []string) []string {
	var names []string
	for _, path := range paths {
		if name, ours := strings.CutPrefix(path, module); ours {
			names = append(names, name)
		}
	}
	return names
}

// layer returns the rank of a package. A package may import packages of its own layer and
// of lower layers.
func layer(name string) int {
	return slices.Index([]string{"internal", "pkg", "cmd"}, strings.SplitN(name, "/", 2)[0])
}

// TestLayers checks that imports point down: cmd, pkg, internal.
func TestLayers(t *testing.T) {
	for _, p := range productPackages(t) {
		for _, imported := range p.imports {
			if layer(imported) > layer(p.name) {
				t.Errorf("%s imports %s: imports must point down, from cmd to pkg to internal", p.name, imported)
			}
		}
	}
}

// isForTests reports whether only tests may import a package.
func isForTests(name string) bool {
	return strings.HasPrefix(name, "internal/testutil/") ||
		slices.Contains([]string{"internal/fakeapi", "internal/history/historytest"}, name)
}

// TestPackagesForTests checks that only tests import the packages for tests.
func TestPackagesForTests(t *testing.T) {
	found := 0
	for _, p := range productPackages(t) {
		if isForTests(p.name) {
			found++
		} else if i := slices.IndexFunc(p.imports, isForTests); i >= 0 {
			t.Errorf("%s imports %s, which is only for tests", p.name, p.imports[i])
		}
	}
	if found < 5 {
		t.Errorf("found only %d packages for tests", found)
	}
}

// TestEngine checks that the packages of the engine import only what the page allows.
func TestEngine(t *testing.T) {
	allowed, found := engineTable(t), map[string]bool{}
	for _, p := range productPackages(t) {
		name := strings.TrimPrefix(p.name, "internal/")
		may, isEngine := allowed[name]
		if !isEngine {
			continue
		}
		var does []string
		for _, imported := range p.imports {
			imported = strings.TrimPrefix(imported, "internal/")
			if _, isEngine := allowed[imported]; !isEngine {
				continue
			}
			does = append(does, imported)
			if !slices.Contains(may, imported) {
				t.Errorf("internal/%s imports internal/%s, which %s does not allow", name, imported, page)
			}
		}
		for _, imported := range may {
			if !slices.Contains(does, imported) {
				t.Errorf("%s says that internal/%s imports internal/%s, and it does not", page, name, imported)
			}
		}
		found[name] = true
	}
	for name := range allowed {
		if !found[name] {
			t.Errorf("%s names internal/%s, which does not exist", page, name)
		}
	}
}

const (
	// maxLines limits the lines of a package without its tests, to about 2,000.
	maxLines = 2300
	// maxActionLines is the limit for pkg/action, which has all the exported names of
	// Helm's package.
	maxActionLines = 4000
)

// TestSize checks that no package of pkg and internal is too large.
func TestSize(t *testing.T) {
	for _, p := range productPackages(t) {
		limit := maxLines
		switch {
		case layer(p.name) == layer("cmd"):
			continue
		case p.name == "pkg/action":
			limit = maxActionLines
		}
		if lines := countLines(t, filepath.Join(root, p.name)); lines > limit {
			t.Errorf("%s has %d lines without tests, but may have at most %d: split it by subject", p.name, lines, limit)
		}
	}
}

// countLines counts the lines of Go files that are not tests.
func countLines(t *testing.T, dir string) int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines += strings.Count(string(text), "\n")
	}
	return lines
}

var quoted = regexp.MustCompile("`([a-z]+)`")

// engineTable reads the table of the engine: for each package, the packages that it may
// import.
func engineTable(t *testing.T) map[string][]string {
	t.Helper()
	_, text, found := strings.Cut(readPage(t), "| package | subject | imports of the engine |\n| --- | --- | --- |\n")
	if !found {
		t.Fatalf("%s has no table of the engine", page)
	}
	table := map[string][]string{}
	for line := range strings.Lines(text) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 {
			break
		}
		var imports []string
		for _, match := range quoted.FindAllStringSubmatch(cells[3], -1) {
			imports = append(imports, match[1])
		}
		table[quoted.FindStringSubmatch(cells[1])[1]] = imports
	}
	return table
}

func readPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestFiles checks that the files named on the page exist.
func TestFiles(t *testing.T) {
	names := regexp.MustCompile("`([a-z_/]+\\.(?:go|md))`").FindAllStringSubmatch(readPage(t), -1)
	if len(names) < 20 {
		t.Errorf("%s names only %d files", page, len(names))
	}
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(root, name[1])); err != nil {
			t.Errorf("%s names %s: %v", page, name[1], err)
		}
	}
}
