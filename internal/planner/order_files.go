// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"fmt"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/orderfile"
	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/text"
)

// PreviousOrderFile returns the order file that was given for a stored revision, if reuse is set. Otherwise, dropped
// says what an upgrade of the revision drops; it is empty if there was no order file.
func PreviousOrderFile(rel *release.Release, reuse bool) (file *orderfile.Given, dropped string, err error) {
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
		return &orderfile.Given{Name: given.Name, Text: []byte(given.Text)}, "", nil
	}
	rules := ""
	if charts, resources, err := given.CountRules(); err == nil {
		rules = fmt.Sprintf(" (%s about charts, %s about resources)", text.Count(charts, "rule"), text.Count(resources, "rule"))
	}
	return nil, fmt.Sprintf("the order file %s%s, with which revision %d was deployed, no longer applies: "+
		"to keep it, use --reuse-order, or give a file with --order", given.Name, rules, rel.Version), nil
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
