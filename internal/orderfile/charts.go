// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package orderfile

import (
	"errors"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
)

// OfCharts returns the order files of a chart and its subcharts, the outermost first. Helm must have processed the
// dependencies of the chart. The error joins those of all files.
func OfCharts(ch *chart.Chart) ([]*File, error) {
	var files []*File
	var problems []error
	level := []location{{ch, ch.Name(), ch.Name()}}
	for len(level) > 0 {
		var next []location
		for _, l := range level {
			if f, err := l.orderFile(); err != nil {
				problems = append(problems, err)
			} else if f != nil {
				files = append(files, f)
			}
			for _, sub := range l.chart.Dependencies() {
				next = append(next, location{sub, path.Join(l.folder, "charts", sub.Name()), path.Join(l.path, sub.Name())})
			}
		}
		slices.SortStableFunc(next, func(a, b location) int { return strings.Compare(a.path, b.path) })
		level = next
	}
	return files, errors.Join(problems...)
}

// location is a chart with its directory, for messages, and its path in the tree of charts.
type location struct {
	chart        *chart.Chart
	folder, path string
}

// orderFile returns the order file of the chart; nil if it has none.
func (l location) orderFile() (*File, error) {
	for _, f := range l.chart.Files {
		if f == nil || f.Name != FileName {
			continue
		}
		file, err := Parse(path.Join(l.folder, FileName), l.path, f.Data)
		if errors.Is(err, ErrOther) {
			return nil, nil
		}
		return file, err
	}
	return nil, nil
}
