// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package chartscripts reads the Lua scripts that charts contain, and the permissions for which they
// ask, from charts and from stored releases (docs/reference.md, "Scripts").
package chartscripts

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/chartformat"
	"github.com/ordered-helm/helm/internal/library"
	"github.com/ordered-helm/helm/internal/luasandbox"
)

// PermissionsFile is the file of a chart that asks for permissions for its scripts.
const PermissionsFile = "ext/permissions.yaml"

// Limits of the scripts of one chart.
const (
	maxFiles = 200
	maxBytes = 1 << 20
)

// Chart is a chart with scripts.
type Chart struct {
	// Path is the path of the chart in the tree of charts, for example shop/charts/db.
	Path  string
	Chart *chart.Chart
	// Library says whether the chart is used as a library.
	Library bool
	// Files are the scripts, sorted by name. Their names are relative to the chart.
	Files []*chart.File
	// Permissions are the permissions for which the chart asks, in the order in which it names
	// them.
	Permissions []luasandbox.Permission

	owners owners
}

// FileError reports that a file of a chart is invalid.
type FileError struct {
	// File is the path of the file, which begins with the path of the chart.
	File string
	// Line is the line of the mistake; 0 if it is about the whole file.
	Line int
	Err  error
}

func (e *FileError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
	}
	return fmt.Sprintf("%s: %v", e.File, e.Err)
}

func (e *FileError) Unwrap() error { return e.Err }

// Read returns the charts with scripts among ch and its subcharts, subcharts first. It does not compile
// the scripts. The error is a *FileError.
func Read(ch *chart.Chart) ([]*Chart, error) {
	return readTree(ch, func(ch *chart.Chart, _ string) string { return ch.ChartFullPath() })
}

// readTree is like Read. sourcePath returns the path with which the sources of the documents of a chart begin;
// its parameters are the chart and its path in the tree of charts.
func readTree(ch *chart.Chart, sourcePath func(*chart.Chart, string) string) ([]*Chart, error) {
	all := owners{}
	charts, err := all.read(ch, ch.ChartFullPath(), sourcePath)
	for _, c := range charts {
		c.owners = all
	}
	return charts, err
}

// readChart returns the scripts of one chart, or nil if it has none.
func readChart(ch *chart.Chart, at string) (*Chart, error) {
	enabled, err := isEnabled(ch, at)
	if !enabled || err != nil {
		return nil, err
	}
	c := &Chart{Path: at, Chart: ch, Library: ch.Metadata.Type == library.TypeLibrary}
	size := 0
	for _, f := range ch.Files {
		if f != nil && chartformat.IsScript(f.Name) {
			c.Files = append(c.Files, f)
			size += len(f.Data)
		}
	}
	switch {
	case len(c.Files) == 0:
		return nil, nil
	case len(c.Files) > maxFiles:
		return nil, &FileError{path.Join(c.Path, chartformat.ScriptsDirectory), 0, fmt.Errorf("contains %d scripts: a chart can have at most %d", len(c.Files), maxFiles)}
	case size > maxBytes:
		return nil, &FileError{path.Join(c.Path, chartformat.ScriptsDirectory), 0, fmt.Errorf("the scripts have %d bytes: a chart can have scripts of at most %d", size, maxBytes)}
	}
	slices.SortFunc(c.Files, func(a, b *chart.File) int { return strings.Compare(a.Name, b.Name) })
	c.Permissions, err = readPermissions(ch, at)
	return c, err
}

// isEnabled reports whether the scripts of a chart run.
func isEnabled(ch *chart.Chart, at string) (bool, error) {
	if ch.Metadata == nil {
		return false, nil
	}
	switch value := ch.Metadata.Annotations[annotation.Scripts]; value {
	case annotation.ScriptsEnabled:
		return true, nil
	case "", annotation.ScriptsDisabled:
		return false, nil
	default:
		return false, &FileError{path.Join(at, "Chart.yaml"), 0, fmt.Errorf("the annotation %s is %q: must be %q or %q",
			annotation.Scripts, value, annotation.ScriptsEnabled, annotation.ScriptsDisabled)}
	}
}
