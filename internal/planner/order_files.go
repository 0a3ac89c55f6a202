// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"errors"
	"fmt"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/orderfile"
	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/text"
)

// OrderFile is an order file that is given for an operation, in addition to those of the charts.
type OrderFile struct {
	// Name is its path, for messages.
	Name string
	Text []byte
}

// Validate returns an error if an order file is given although the operation follows no order. The file can be nil.
func (f *OrderFile) Validate(isOrdered bool) error {
	if f != nil && !isOrdered {
		return errors.New("an order file has an effect only in an ordered operation: use --wait=ordered (WaitStrategyOrdered) or omit --order")
	}
	return nil
}

// PreviousOrderFile returns the order file that was given for a stored revision, if reuse is set. Otherwise, dropped
// says what an upgrade of the revision drops; it is empty if there was no order file.
func PreviousOrderFile(rel *release.Release, reuse bool) (file *OrderFile, dropped string, err error) {
	rec, err := orderrecord.Read(rel)
	switch {
	case err != nil && reuse:
		return nil, "", err
	case err != nil:
		return nil, "", nil // an upgrade does not need the order of the previous revision
	}
	given := rec.GivenOrderFile()
	switch {
	case given == nil || rec.Revision != rel.Version:
		return nil, "", nil
	case reuse:
		return &OrderFile{Name: given.Name, Text: []byte(given.Text)}, "", nil
	}
	rules := ""
	if charts, resources, err := given.CountRules(); err == nil {
		rules = fmt.Sprintf(" (%s about charts, %s about resources)", text.Count(charts, "rule"), text.Count(resources, "rule"))
	}
	return nil, fmt.Sprintf("the order file %s%s, with which revision %d was deployed, no longer applies: "+
		"to keep it, use --reuse-order, or give a file with --order", given.Name, rules, rel.Version), nil
}

// readOrderFiles returns the order files that apply to the release, the strongest first.
func (p *Planner) readOrderFiles() ([]*orderfile.File, error) {
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
