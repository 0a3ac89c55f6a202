// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"errors"
	"fmt"

	"github.com/ordered-helm/helm/internal/orderfile"
	"github.com/ordered-helm/helm/internal/orderrecord"
)

// OrderFile is an order file that is given for an operation, in addition to those of the charts.
type OrderFile struct {
	// Name is its path, for messages.
	Name string
	Text []byte
}

// orderFiles returns the order files that apply to the release, the strongest first.
func (p *Planner) orderFiles() ([]*orderfile.File, error) {
	files, err := orderfile.OfCharts(p.Chart)
	if given := p.options.OrderFile; given != nil {
		f, invalid := orderfile.Parse(given.Name, p.Root.Name, given.Text)
		if errors.Is(invalid, orderfile.ErrOther) {
			invalid = fmt.Errorf("%w: it must have the apiVersion %s and the kind %s", invalid, orderfile.APIVersion, orderfile.Kind)
		}
		err = errors.Join(invalid, err)
		files = append([]*orderfile.File{f}, files...)
	}
	if err != nil {
		return nil, err
	}
	return files, nil
}

// orderSet returns the order files in the form that sequencer.Build needs; nil if there are none.
func (p *Planner) orderSet() (*orderfile.Set, error) {
	files, err := p.orderFiles()
	if len(files) == 0 || err != nil {
		return nil, err
	}
	return orderfile.NewSet(files), nil
}

// recordedOrderFiles returns the order files in the form in which a release stores them. They are valid, because
// the plan was built from them.
func (p *Planner) recordedOrderFiles() []orderrecord.OrderFile {
	files, _ := p.orderFiles()
	var recorded []orderrecord.OrderFile
	for i, f := range files {
		recorded = append(recorded, orderrecord.OrderFile{Name: f.Name, Chart: f.Chart, Text: string(f.Text), Given: i == 0 && p.options.OrderFile != nil})
	}
	return recorded
}
