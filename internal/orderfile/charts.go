// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package orderfile

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
)

// Given is an order file that is given for an operation, in addition to those of the charts.
type Given struct {
	// Name is its path, for messages.
	Name string
	Text []byte
}

// Validate returns an error if an order file is given although the operation follows no order. The file can be nil.
func (g *Given) Validate(isOrdered bool) error {
	if g != nil && !isOrdered {
		return errors.New("an order file has an effect only in an ordered operation: use --wait=ordered (WaitStrategyOrdered) or omit --order")
	}
	return nil
}

// Parse reads the file. chart is the name of the root chart. Unlike a file in a chart, it must be an order file.
func (g *Given) Parse(chart string) (*File, error) {
	f, err := Parse(g.Name, chart, g.Text)
	if errors.Is(err, ErrOther) {
		err = fmt.Errorf("%w: it must have the apiVersion %s and the kind %s", err, APIVersion, Kind)
	}
	return f, err
}

// OfRelease returns the order files that apply to a release of the chart, the strongest first: given, which can be
// nil, and then those of OfCharts. The error joins those of all files. After an error, the result contains the
// valid files.
func OfRelease(ch *chart.Chart, given *Given) ([]*File, error) {
	files, err := OfCharts(ch)
	if given == nil {
		return files, err
	}
	f, invalid := given.Parse(ch.Name())
	if invalid == nil {
		files = append([]*File{f}, files...)
	}
	return files, errors.Join(invalid, err)
}

// OfCharts returns the order files of a chart and its subcharts, the outermost first. Helm must have processed the
// dependencies of the chart. The error joins those of all files. After an error, the result contains the valid files.
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
