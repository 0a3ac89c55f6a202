// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package orderrecord

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/ordered-helm/helm/internal/hookorder"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// Limits of an order record. Everyone who can write releases can store any order record, so
// without limits, reading one could take any amount of time or memory.
const (
	// maxChartDepth limits how deeply charts are nested.
	maxChartDepth = 100
	maxCharts     = 10_000
	// maxPathBytes limits the total length of the paths of all charts.
	maxPathBytes = 16 << 20
)

func encode(r *Record) ([]byte, error) {
	if err := checkCharts(r.Charts); err != nil {
		return nil, err
	}
	return json.Marshal(r)
}

// decode decodes an order record. It first checks the version of the format, because data in
// a newer format may not be decodable.
func decode(data []byte) (*Record, error) {
	var format struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(data, &format); err != nil {
		return nil, err
	}
	switch {
	case format.Version < 1:
		return nil, errors.New("it has no version")
	case format.Version > version:
		return nil, fmt.Errorf("it has version %d, but this program supports versions up to %d: upgrade Ordered Helm", format.Version, version)
	}
	r := &Record{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, err
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	return r, nil
}

// check returns an error if this package cannot have written r.
func (r *Record) check() error {
	switch p := r.Progress; {
	case r.Revision < 0:
		return fmt.Errorf("it has the invalid revision %d", r.Revision)
	case p == nil:
	case p.Revision < 1:
		return fmt.Errorf("its progress has the invalid revision %d", p.Revision)
	case p.TotalNodes < len(p.DoneNodes):
		return fmt.Errorf("its progress has %d done nodes of %d", len(p.DoneNodes), p.TotalNodes)
	case p.TotalNodes < len(p.RunningNodes):
		return fmt.Errorf("its progress has %d running nodes of %d", len(p.RunningNodes), p.TotalNodes)
	}
	if err := errors.Join(r.Earlier.check(), r.HookObjects.check(), r.Lease.check()); err != nil {
		return err
	}
	if err := checkCharts(r.Charts); err != nil || !r.Ordered {
		return err
	}
	if len(r.OrderFiles) > maxCharts+1 {
		return fmt.Errorf("it has more than %d order files", maxCharts+1)
	}
	if _, err := r.OrderFileSet(); err != nil {
		return err
	}
	return checkDependencies(r.Charts)
}

func (e *EarlierRevisions) check() error {
	if e == nil {
		return nil
	}
	if e.Revision < 1 {
		return fmt.Errorf("its data about earlier revisions has the invalid revision %d", e.Revision)
	}
	for _, l := range e.Leftovers {
		if err := l.check(); err != nil {
			return err
		}
	}
	return nil
}

func (l Leftover) check() error {
	if l.APIVersion == "" || l.Kind == "" || l.Name == "" {
		return fmt.Errorf("it has an invalid leftover object: apiVersion %.100q, kind %.100q, name %.100q", l.APIVersion, l.Kind, l.Name)
	}
	return nil
}

// checkCharts returns an error if the tree of charts below root exceeds a limit or is
// invalid.
func checkCharts(root *sequencer.Chart) error {
	if root == nil {
		return errors.New("it has no charts")
	}
	charts, paths := 0, 0
	var walk func(c *sequencer.Chart, depth, path int) error
	walk = func(c *sequencer.Chart, depth, path int) error {
		if c == nil {
			return errors.New("one of its charts is null")
		}
		charts++
		path += len(c.Name) + 1
		paths += path
		switch {
		case depth > maxChartDepth:
			return fmt.Errorf("its charts are nested more than %d levels deep", maxChartDepth)
		case charts > maxCharts:
			return fmt.Errorf("it has more than %d charts", maxCharts)
		case c.HookMode != "" && !hookorder.Mode(c.HookMode).IsParallel():
			return fmt.Errorf("its chart %.100q has the invalid runHooksInParallel %.100q", c.Name, c.HookMode)
		case paths > maxPathBytes:
			return fmt.Errorf("the paths of its charts exceed %d MiB in total", maxPathBytes>>20)
		}
		for _, sub := range c.Subcharts {
			if err := walk(sub, depth+1, path); err != nil {
				return err
			}
		}
		return nil
	}
	return walk(root, 1, 0)
}

// checkDependencies returns an error if c, or a chart below it, depends on a subchart that
// does not exist, because such a release cannot have been deployed in order. Without this
// check, building the graph would fail, but only after a search for a similar name, which
// could take long.
func checkDependencies(c *sequencer.Chart) error {
	if c.Sequenced {
		known := subchartNames(c)
		for _, name := range dependsOn(c) {
			if !known[name] {
				return fmt.Errorf("its chart %.100q depends on the unknown subchart %.100q", c.Name, name)
			}
		}
	}
	for _, sub := range c.Subcharts {
		if err := checkDependencies(sub); err != nil {
			return err
		}
	}
	return nil
}

// dependsOn returns the names of all subcharts on which c, or an entry in its dependencies,
// depends.
func dependsOn(c *sequencer.Chart) []string {
	names := slices.Clone(c.DependsOnSubcharts)
	for _, d := range c.Dependencies {
		names = append(names, d.DependsOn...)
	}
	return names
}

// subchartNames returns the names by which c can refer to its subcharts: their names,
// aliases and tags.
func subchartNames(c *sequencer.Chart) map[string]bool {
	names := map[string]bool{}
	for _, sub := range c.Subcharts {
		names[sub.Name] = true
	}
	for _, d := range c.Dependencies {
		names[d.Name] = true
		if d.Alias != "" {
			names[d.Alias] = true
		}
		for _, tag := range d.Tags {
			names[tag] = true
		}
	}
	return names
}
