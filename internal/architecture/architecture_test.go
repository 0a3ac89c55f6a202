// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package architecture contains tests that check the structure of the code: which packages
// import which, and the sizes of packages. The rules are in docs/architecture.md, and the
// tests check that the files that this page names exist.
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
	root         = "../.."
	page         = "docs/architecture.md"
	modulePrefix = "github.com/ordered-helm/helm/"
)

// goPackage describes a Go package of the main module.
type goPackage struct {
	// name is the path of the package in the module, for example "internal/lint".
	name string
	// imports contains the names of the packages of the module that the package imports.
	// Imports of its tests are omitted.
	imports []string
}

// productPackages returns all packages of the main module below cmd, pkg and internal.
func productPackages(t *testing.T) []goPackage {
	t.Helper()
	var packages []goPackage
	for _, dir := range []string{"cmd", "pkg", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return err
			}
			if _, err := os.Stat(filepath.Join(path, "go.mod")); entry.Name() == "testdata" || err == nil {
				return fs.SkipDir // a directory with a go.mod is another module
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

// inModule returns the names, as in goPackage.name, of those packages that belong to the module.
// paths contains import paths.
func inModule(paths []string) []string {
	var names []string
	for _, path := range paths {
		if name, ok := strings.CutPrefix(path, modulePrefix); ok {
			names = append(names, name)
		}
	}
	return names
}

// groups contains the groups of packages that the page defines.
type groups struct {
	// names contains the names of the groups from the highest to the lowest.
	names []string
	// of maps the name of each package to the index of its group in names.
	of map[string]int
}

// readGroups reads the table of groups from the page.
func readGroups(t *testing.T) groups {
	t.Helper()
	g := groups{of: map[string]int{}}
	for _, row := range readTable(t, "| group | packages | contents |") {
		g.names = append(g.names, strings.TrimSpace(row[0]))
		for _, name := range namesIn(row[1]) {
			if _, twice := g.of[name]; twice {
				t.Errorf("%s names %s twice", page, name)
			}
			g.of[name] = len(g.names) - 1
		}
	}
	return g
}

// TestGroups checks that each package belongs to a group, and imports only packages of its
// own group and of the groups below it.
func TestGroups(t *testing.T) {
	g, found := readGroups(t), map[string]bool{}
	for _, p := range productPackages(t) {
		found[p.name] = true
		group, known := g.of[p.name]
		if !known {
			t.Errorf("%s is in no group: add it to the table of %s", p.name, page)
			continue
		}
		for _, imported := range p.imports {
			if above, known := g.of[imported]; known && above < group {
				t.Errorf("%s imports %s, but the group %s cannot import packages of the group %s, which is above it in %s", p.name, imported, g.names[group], g.names[above], page)
			}
		}
	}
	for name := range g.of {
		if !found[name] {
			t.Errorf("%s names %s, which does not exist", page, name)
		}
	}
}

// TestDeploymentPackages checks that each deployment package imports exactly the deployment
// packages that the page lists for it.
func TestDeploymentPackages(t *testing.T) {
	g := readGroups(t)
	group := slices.Index(g.names, "deployment")
	listed := map[string][]string{}
	for _, row := range readTable(t, "| package | subject | imports of this group |") {
		listed[namesIn(row[0])[0]] = namesIn(row[2])
	}
	for _, p := range productPackages(t) {
		if index, known := g.of[p.name]; !known || index != group {
			continue
		}
		allowed, known := listed[p.name]
		if !known {
			t.Errorf("%s is not in the table of the deployment packages in %s", p.name, page)
		}
		delete(listed, p.name)
		for _, imported := range p.imports {
			if g.of[imported] == group && !slices.Contains(allowed, imported) {
				t.Errorf("%s imports %s, which %s does not list", p.name, imported, page)
			}
		}
		for _, imported := range allowed {
			if !slices.Contains(p.imports, imported) {
				t.Errorf("%s lists %s as an import of %s, but the package does not import it", page, imported, p.name)
			}
		}
	}
	for name := range listed {
		t.Errorf("%s lists %s as a deployment package, but the package is not in that group", page, name)
	}
}

const (
	// maxLines and maxFiles are the maximum numbers of lines and files of a package, without
	// its tests.
	maxLines = 2000
	maxFiles = 15
	// maxActionLines is the maximum number of lines of pkg/action, which has all exported
	// names of Helm's package action. The number of its files is not limited.
	maxActionLines = 4000
)

// TestSize checks that no package below pkg or internal is too large.
func TestSize(t *testing.T) {
	for _, p := range productPackages(t) {
		lines, files := size(t, filepath.Join(root, p.name))
		limit := maxLines
		switch {
		case strings.HasPrefix(p.name, "cmd/"):
			continue
		case p.name == "pkg/action":
			limit = maxActionLines
		case files > maxFiles:
			t.Errorf("%s has %d files without tests, but may have at most %d: split it by subject", p.name, files, maxFiles)
		}
		if lines > limit {
			t.Errorf("%s has %d lines without tests, but may have at most %d: split it by subject", p.name, lines, limit)
		}
	}
}

// size returns the numbers of lines and files of the package in dir, without its tests.
func size(t *testing.T, dir string) (lines, files int) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines += strings.Count(string(text), "\n")
		files++
	}
	return lines, files
}

// readTable returns the cells of each row of the table on the page that has this header.
func readTable(t *testing.T, header string) [][]string {
	t.Helper()
	_, text, found := strings.Cut(readPage(t), header+"\n| --- | --- | --- |\n")
	if !found {
		t.Fatalf("%s has no table %q", page, header)
	}
	var rows [][]string
	for line := range strings.Lines(text) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 {
			break
		}
		rows = append(rows, cells[1:4])
	}
	return rows
}

var quoted = regexp.MustCompile("`([a-z/]+)`")

// namesIn returns the names of the packages in a cell of a table, as in goPackage.name.
func namesIn(cell string) []string {
	var names []string
	for _, match := range quoted.FindAllStringSubmatch(cell, -1) {
		name := match[1]
		if !strings.HasPrefix(name, "cmd/") && !strings.HasPrefix(name, "pkg/") {
			name = "internal/" + name
		}
		names = append(names, name)
	}
	return names
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
