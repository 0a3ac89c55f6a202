// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package orderfiles checks the order files of a chart, and finds positions in them (docs/lint.md).
package orderfiles

import (
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"

	"gopkg.in/yaml.v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/ignore"

	"github.com/ordered-helm/helm/internal/joinederror"
	"github.com/ordered-helm/helm/internal/lint/problem"
	"github.com/ordered-helm/helm/internal/lint/rule"
	"github.com/ordered-helm/helm/internal/lint/source"
	"github.com/ordered-helm/helm/internal/orderfile"
	"github.com/ordered-helm/helm/internal/yamledit"
)

// RelativeTo returns an order file that is not part of the chart with a name that is relative to the directory of
// the chart, as the names of all files in findings.
func RelativeTo(chart string, given *orderfile.Given) *orderfile.Given {
	from, err := filepath.Abs(chart)
	if err != nil {
		return given
	}
	to, err := filepath.Abs(given.Name)
	if err != nil {
		return given
	}
	relative, err := filepath.Rel(from, to)
	if err != nil { // they are on different drives
		return given
	}
	return &orderfile.Given{Name: filepath.ToSlash(relative), Text: given.Text}
}

// Contains reports whether a chart, or one of its subcharts, contains an order file.
func Contains(root *source.Files) bool {
	found := false
	root.Walk(func(c *source.Files) {
		text := c.Data(orderfile.FileName)
		found = found || text != nil && orderfile.IsOrderFile(text)
	})
	return found
}

// CheckIgnored returns a problem if the order file of the chart c exists, but is not part of the chart, because .helmignore
// excludes it. dir is the directory of the root chart.
func CheckIgnored(dir string, c *source.Files) []problem.Problem {
	if c.Data(orderfile.FileName) != nil {
		return nil
	}
	file, err := os.Open(filepath.Join(dir, filepath.FromSlash(c.Prefix), orderfile.FileName))
	if err != nil {
		return nil // there is none
	}
	defer func() { _ = file.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(file, orderfile.MaxSize+1))
	if err != nil || !orderfile.IsOrderFile(text) {
		return nil
	}
	return []problem.Problem{{
		Rule: rule.IgnoredOrderFile, At: source.Position{File: c.Prefix + orderfile.FileName},
		Message: ignore.HelmIgnore + " excludes this file: it is not part of the chart, and has no effect",
	}}
}

// Files are the order files that apply to a chart.
type Files struct {
	// Set contains the valid files; it is nil if there are none.
	Set *orderfile.Set

	sources map[string]fileSource // by the names that package sequencer uses
}

// fileSource is the source of an order file.
type fileSource struct {
	// file is the path of the file relative to the directory of the root chart, and root its root node, nil if
	// it cannot be parsed.
	file string
	root *yaml.Node
	// given says that the file is not part of the chart.
	given bool
}

// Load returns the order files of a chart, after Helm has processed its dependencies, and the problems with them. bySource leads
// from the path of each Chart.yaml to the source files of its chart. given is an order file that is not part of
// the chart; it must be valid, and can be nil.
func Load(ch *chart.Chart, bySource map[string]*source.Files, given *orderfile.Given) (*Files, []problem.Problem) {
	f := &Files{sources: map[string]fileSource{}}
	for name, c := range bySource {
		f.sources[path.Join(path.Dir(name), orderfile.FileName)] = fileSource{file: c.Prefix + orderfile.FileName, root: c.Parse(orderfile.FileName)}
	}
	if given != nil {
		root, _ := yamledit.Parse(string(given.Text))
		f.sources[given.Name] = fileSource{given.Name, root, true}
	}
	files, err := orderfile.OfRelease(ch, given)
	if len(files) > 0 {
		f.Set = orderfile.NewSet(files)
	}
	var problems []problem.Problem
	for _, err := range joinederror.Split(err) {
		if e, is := errors.AsType[*orderfile.Error](err); is {
			problems = append(problems, f.Problem(e))
		}
	}
	return f, problems
}

// Problem returns the problem that an error reports.
func (f *Files) Problem(e *orderfile.Error) problem.Problem {
	at := source.Position{File: e.File, Line: e.Line}
	if s, known := f.sources[e.File]; known {
		at.File = s.file
	}
	message := e.Problem
	if e.Path != "" {
		message = e.Path + ": " + message
	}
	return problem.Problem{Rule: rule.InvalidOrderFile, At: at, Message: message}
}

// Position returns the position of a rule or one of its values, such as charts[1].dependsOn, in the order file
// that package sequencer calls name. It returns false if name is not an order file.
func (f *Files) Position(name, key string) (at source.Position, is bool) {
	s, is := f.sources[name]
	at = source.Position{File: s.file}
	if n := source.PathNode(s.root, key); n != nil {
		at.Line, at.Column = n.Line, n.Column
	}
	return at, is
}

// IsGiven reports whether name is the order file that is not part of the chart.
func (f *Files) IsGiven(name string) bool { return f.sources[name].given }
