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
	"github.com/ordered-helm/helm/internal/library"
)

// List prints a table of the dependencies of the chart at chartpath, and warnings about files
// in the charts/ and library/ directories of this chart that are not dependencies. columnWidth is
// the maximum width of each column, in characters.
func List(chartpath string, out io.Writer, columnWidth uint) error {
	ch, err := chartloader.LoadWithoutLibraries(chartpath)
	if err != nil {
		return err
	}
	required := ch.Metadata.Dependencies
	if required == nil {
		fmt.Fprintf(out, "WARNING: no dependencies at %s\n", filepath.Join(chartpath, "charts"))
		return nil
	}
	charts, libraries := library.Split(ch.Metadata, required)
	table := uitable.New()
	table.MaxColWidth = columnWidth
	table.AddRow("NAME", "VERSION", "REPOSITORY", "STATUS")
	for _, dep := range charts {
		table.AddRow(dep.Name, dep.Version, dep.Repository, statusOf(filepath.Join(chartpath, chartsDirectory), dep, ch.Dependencies()))
	}
	for _, dep := range libraries {
		dir := filepath.Join(chartpath, libraryDirectory)
		unpacked := append(unpackedCharts(dir), ch.Dependencies()...)
		table.AddRow(dep.Name, dep.Version, dep.Repository, statusOf(dir, dep, unpacked))
	}
	fmt.Fprintln(out, table)
	fmt.Fprintln(out)
	warnUndeclared(out, filepath.Join(chartpath, chartsDirectory), charts)
	if len(libraries) > 0 {
		warnUndeclared(out, filepath.Join(chartpath, libraryDirectory), libraries)
	}
	return nil
}

// unpackedCharts returns the charts that are directories in dir, or links to directories. As Helm, it
// ignores names that begin with an underscore or a dot.
func unpackedCharts(dir string) []*chart.Chart {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // the directory is missing, or the chart is an archive
	}
	var charts []*chart.Chart
	for _, entry := range entries {
		name := filepath.Join(dir, entry.Name())
		info, err := os.Stat(name)
		if err != nil || !info.IsDir() || strings.ContainsAny(entry.Name()[:1], "_.") {
			continue
		}
		if ch, err := chartloader.LoadWithoutLibraries(name); err == nil {
			charts = append(charts, ch)
		}
	}
	return charts
}

// statusOf returns the status of dep, for example "ok" or "missing", in Helm's words. Its archive
// can be in dir; otherwise it can be one of the charts unpacked.
func statusOf(dir string, dep *chart.Dependency, unpacked []*chart.Chart) string {
	archives, err := filepath.Glob(filepath.Join(dir, dep.Name+"-*.tgz"))
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
	for _, sub := range unpacked {
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
	ch, err := chartloader.LoadWithoutLibraries(name)
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

// warnUndeclared prints a warning about each chart in a directory that is not in required, and
// about each archive or directory there that is not a chart.
func warnUndeclared(out io.Writer, dir string, required []*chart.Dependency) {
	files, err := filepath.Glob(filepath.Join(dir, "*"))
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
		ch, err := chartloader.LoadWithoutLibraries(name)
		switch {
		case err != nil:
			fmt.Fprintf(out, "WARNING: %q is not a chart.\n", name)
		case !slices.ContainsFunc(required, func(dep *chart.Dependency) bool { return dep.Name == ch.Name() }):
			fmt.Fprintf(out, "WARNING: %q is not in Chart.yaml.\n", name)
		}
	}
}
