// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package orderrecord

import (
	"fmt"

	"github.com/ordered-helm/helm/internal/orderfile"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// OrderFile is an order file that applies to a release.
type OrderFile struct {
	// Name is the path of the file, for messages, and Chart the path of the chart to which it belongs.
	Name  string `json:"name"`
	Chart string `json:"chart"`
	// Given says that the file was given for the operation, with --order. Otherwise, it is part of the chart.
	Given bool   `json:"given,omitempty"`
	Text  string `json:"text"`
}

// OrderFileSet returns the order files of the record. r can be nil.
func (r *Record) OrderFileSet() (*orderfile.Set, error) {
	if r == nil || len(r.OrderFiles) == 0 {
		return nil, nil
	}
	files := make([]*orderfile.File, len(r.OrderFiles))
	for i, f := range r.OrderFiles {
		var err error
		if files[i], err = orderfile.Parse(f.Name, f.Chart, []byte(f.Text)); err != nil {
			return nil, fmt.Errorf("its order file %.100q is invalid: %w", f.Name, err)
		}
	}
	return orderfile.NewSet(files), nil
}

// GivenOrderFile returns the order file that was given for the operation, with --order; nil if there was none.
// r can be nil.
func (r *Record) GivenOrderFile() *OrderFile {
	if r == nil {
		return nil
	}
	for i := range r.OrderFiles {
		if r.OrderFiles[i].Given {
			return &r.OrderFiles[i]
		}
	}
	return nil
}

// format returns the version of the JSON format that the record needs. Programs that know only version 1 would
// follow another order.
func (r *Record) format() int {
	if len(r.OrderFiles) > 0 || r.Charts != nil && needsFormat2(r.Charts) {
		return 2
	}
	return 1
}

// needsFormat2 reports whether c, or a chart below it, declares when its hooks run, or external dependencies.
func needsFormat2(c *sequencer.Chart) bool {
	if c.HookScope != "" || len(c.External) > 0 {
		return true
	}
	for _, d := range c.Dependencies {
		if d.HookScope != "" {
			return true
		}
	}
	for _, sub := range c.Subcharts {
		if needsFormat2(sub) {
			return true
		}
	}
	return false
}

// CountRules returns the number of rules about charts and of those about resources.
func (f *OrderFile) CountRules() (charts, resources int, err error) {
	parsed, err := orderfile.Parse(f.Name, f.Chart, []byte(f.Text))
	if err != nil {
		return 0, 0, err
	}
	return len(parsed.Charts), len(parsed.Resources), nil
}
