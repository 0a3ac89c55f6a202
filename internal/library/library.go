// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package library chooses one version of each library for a tree of charts, and makes the copies
// of libraries that Helm can render (docs/reference.md, "Libraries").
package library

import (
	"bytes"
	"encoding/json"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/ordered-helm/helm/internal/annotation"
)

// TypeLibrary is the type of charts that cannot be installed.
const TypeLibrary = "library"

// Directory is the directory of a chart that contains its libraries, with a slash at the end.
const Directory = "library/"

// NewCopy returns a chart that Helm accepts as a subchart, with the named templates and the scripts of a
// library and nothing else. Helm renders no file of a library chart, but parses those whose names begin
// with an underscore.
func NewCopy(library *chart.Chart) *chart.Chart {
	original := library.Metadata.Type
	if original == "" {
		original = "application"
	}
	c := &chart.Chart{Metadata: &chart.Metadata{
		APIVersion: chart.APIVersionV2, Name: library.Name(), Version: library.Metadata.Version, Type: TypeLibrary,
		Annotations: map[string]string{annotation.LibraryCopy: original},
	}}
	for _, t := range library.Templates {
		dir, base := path.Split(t.Name)
		c.Templates = append(c.Templates, &chart.File{Name: dir + "_" + base, Data: t.Data})
	}
	if setting, isSet := library.Metadata.Annotations[annotation.Scripts]; isSet {
		c.Metadata.Annotations[annotation.Scripts] = setting
		for _, f := range library.Files {
			if strings.HasPrefix(f.Name, "ext/") {
				c.Files = append(c.Files, f)
			}
		}
	}
	return c
}

// IsCopy reports whether m is the metadata of a chart that NewCopy returned.
func IsCopy(m *chart.Metadata) bool { return m != nil && m.Annotations[annotation.LibraryCopy] != "" }

// Equal reports whether the chart found is c, which NewCopy returned.
func Equal(found, c *chart.Chart) bool {
	return reflect.DeepEqual(found.Metadata, c.Metadata) && equalContents(found, c) && len(found.Values) == 0 && found.Schema == nil && len(found.Dependencies()) == 0
}

// equalContents reports whether two copies have the same templates and scripts.
func equalContents(a, b *chart.Chart) bool {
	return maps.EqualFunc(contents(a.Templates), contents(b.Templates), bytes.Equal) && maps.EqualFunc(contents(a.Files), contents(b.Files), bytes.Equal)
}

func contents(files []*chart.File) map[string][]byte {
	byName := make(map[string][]byte, len(files))
	for _, f := range files {
		byName[f.Name] = f.Data
	}
	return byName
}

// Names returns the names of the libraries among the dependencies of a chart.
func Names(m *chart.Metadata) []string {
	var names []string
	if m == nil || json.Unmarshal([]byte(m.Annotations[annotation.Libraries]), &names) != nil {
		return nil
	}
	return names
}

// Split separates the libraries of a chart from its other dependencies.
func Split(m *chart.Metadata, dependencies []*chart.Dependency) (charts, libraries []*chart.Dependency) {
	names := Names(m)
	for _, d := range dependencies {
		if slices.Contains(names, d.Name) {
			libraries = append(libraries, d)
		} else {
			charts = append(charts, d)
		}
	}
	return charts, libraries
}

// ApplicationChart is an application chart that another chart uses as a library.
type ApplicationChart struct {
	// Name is the name of the application chart, and UsedBy is the path of the chart that uses it.
	Name, UsedBy string
}

// ApplicationCharts returns the charts that ch and its subcharts use as libraries, although they are
// application charts.
func ApplicationCharts(ch *chart.Chart) []ApplicationChart {
	var found []ApplicationChart
	for _, sub := range ch.Dependencies() {
		if !IsCopy(sub.Metadata) {
			found = append(found, ApplicationCharts(sub)...)
		} else if sub.Metadata.Annotations[annotation.LibraryCopy] != TypeLibrary {
			found = append(found, ApplicationChart{Name: sub.Name(), UsedBy: ch.ChartFullPath()})
		}
	}
	return found
}
