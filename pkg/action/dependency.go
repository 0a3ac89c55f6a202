// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/gosuri/uitable"
	"helm.sh/helm/v3/pkg/chart"

	"github.com/ordered-helm/helm/internal/chartloader"
)

// Dependency says what a chart depends on and what of it is there. It has the
// fields of Helm's Dependency and means the same by them (docs/reference.md,
// "Packages").
type Dependency struct {
	Verify                bool
	Keyring               string
	SkipRefresh           bool
	ColumnWidth           uint
	Username              string
	Password              string
	CertFile              string
	KeyFile               string
	CaFile                string
	InsecureSkipTLSverify bool
	PlainHTTP             bool
}

// NewDependency returns a Dependency with Helm's defaults.
func NewDependency() *Dependency { return &Dependency{ColumnWidth: 80} }

// List prints a table of the dependencies of the chart at the path, and warnings
// about what is in its charts folder besides.
func (d *Dependency) List(chartpath string, out io.Writer) error {
	ch, err := chartloader.Load(chartpath)
	if err != nil {
		return err
	}
	required := ch.Metadata.Dependencies
	if required == nil {
		fmt.Fprintf(out, "WARNING: no dependencies at %s\n", filepath.Join(chartpath, "charts"))
		return nil
	}
	table := uitable.New()
	table.MaxColWidth = d.ColumnWidth
	table.AddRow("NAME", "VERSION", "REPOSITORY", "STATUS")
	for _, dep := range required {
		table.AddRow(dep.Name, dep.Version, dep.Repository, dependencyStatus(chartpath, dep, ch))
	}
	fmt.Fprintln(out, table)
	fmt.Fprintln(out)
	warnOfUndeclared(out, chartpath, required)
	return nil
}

// dependencyStatus is the word for how a dependency is there.
func dependencyStatus(chartpath string, dep *chart.Dependency, parent *chart.Chart) string {
	archives, err := filepath.Glob(filepath.Join(chartpath, "charts", dep.Name+"-*.tgz"))
	if err != nil {
		return "bad pattern"
	}
	if len(archives) > 1 {
		// Of several, only those with a version behind the name can be meant.
		archives = slices.DeleteFunc(archives, func(name string) bool {
			version := strings.TrimPrefix(strings.TrimSuffix(filepath.Base(name), ".tgz"), dep.Name+"-")
			_, err := semver.StrictNewVersion(version)
			return err != nil
		})
	}
	if len(archives) > 1 {
		return "too many matches"
	}
	if len(archives) == 1 {
		if _, err := os.Stat(archives[0]); err == nil {
			return archiveStatus(archives[0], dep)
		}
	}
	var found *chart.Chart
	for _, sub := range parent.Dependencies() {
		if sub.Name() == dep.Name {
			found = sub
		}
	}
	if found == nil {
		return "missing"
	}
	return versionStatus(found, dep, "unpacked")
}

func archiveStatus(name string, dep *chart.Dependency) string {
	ch, err := chartloader.Load(name)
	switch {
	case err != nil:
		return "corrupt"
	case ch.Name() != dep.Name:
		return "misnamed"
	default:
		return versionStatus(ch, dep, "ok")
	}
}

// versionStatus is the good word if the chart is of a version that will do.
func versionStatus(ch *chart.Chart, dep *chart.Dependency, good string) string {
	if ch.Metadata.Version == dep.Version {
		return good
	}
	constraint, err := semver.NewConstraint(dep.Version)
	if err != nil {
		return "invalid version"
	}
	version, err := semver.NewVersion(ch.Metadata.Version)
	switch {
	case err != nil:
		return "invalid version"
	case !constraint.Check(version):
		return "wrong version"
	default:
		return good
	}
}

// warnOfUndeclared prints what the charts folder has beside the dependencies.
func warnOfUndeclared(out io.Writer, chartpath string, required []*chart.Dependency) {
	files, err := filepath.Glob(filepath.Join(chartpath, "charts", "*"))
	if err != nil {
		fmt.Fprintln(out, err)
		return
	}
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil {
			fmt.Fprintf(out, "Warning: %s\n", err)
			continue
		}
		if !info.IsDir() && filepath.Ext(name) != ".tgz" {
			continue
		}
		ch, err := chartloader.Load(name)
		switch {
		case err != nil:
			fmt.Fprintf(out, "WARNING: %q is not a chart.\n", name)
		case !slices.ContainsFunc(required, func(dep *chart.Dependency) bool { return dep.Name == ch.Name() }):
			fmt.Fprintf(out, "WARNING: %q is not in Chart.yaml.\n", name)
		}
	}
}
