// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package dependency

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

// List prints a table of the dependencies of the chart at chartpath, and warnings about files
// in the charts/ directory of this chart that are not dependencies. columnWidth is the
// maximum width of each column, in characters.
func List(chartpath string, out io.Writer, columnWidth uint) error {
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
	table.MaxColWidth = columnWidth
	table.AddRow("NAME", "VERSION", "REPOSITORY", "STATUS")
	for _, dep := range required {
		table.AddRow(dep.Name, dep.Version, dep.Repository, statusOf(chartpath, dep, ch))
	}
	fmt.Fprintln(out, table)
	fmt.Fprintln(out)
	warnUndeclared(out, chartpath, required)
	return nil
}

// statusOf returns the status of dep, for example "ok" or "missing", in Helm's words. parent
// is the chart that declares dep.
func statusOf(chartpath string, dep *chart.Dependency, parent *chart.Chart) string {
	archives, err := filepath.Glob(filepath.Join(chartpath, "charts", dep.Name+"-*.tgz"))
	if err != nil {
		return "bad pattern"
	}
	if len(archives) > 1 {
		// The pattern also matches charts whose names begin with dep.Name and a hyphen.
		// Keep only the archives in whose names a version follows.
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
			return statusOfArchive(archives[0], dep)
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

func statusOfArchive(name string, dep *chart.Dependency) string {
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

// versionStatus returns ifValid if the version of ch satisfies dep, and otherwise a status
// that says what is wrong with the version.
func versionStatus(ch *chart.Chart, dep *chart.Dependency, ifValid string) string {
	if ch.Metadata.Version == dep.Version {
		return ifValid
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
		return ifValid
	}
}

// warnUndeclared prints a warning about each chart in charts/ that is not in required, and
// about each archive or directory in charts/ that is not a chart.
func warnUndeclared(out io.Writer, chartpath string, required []*chart.Dependency) {
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
