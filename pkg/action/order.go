// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/releaserecord"
	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// storedPlan rebuilds the graph by which a release was deployed from the record that
// it also returns; both are nil if it was not deployed in order.
func storedPlan(rel *release.Release) (*sequencer.Plan, *releaserecord.Record, error) {
	rec, err := releaserecord.Read(rel)
	if err != nil || rec == nil || !rec.Ordered {
		return nil, nil, err
	}
	resources, err := render.Resources(rel.Manifest, rec.DocumentCharts, rec.Charts, false)
	if err != nil {
		return nil, nil, &releaserecord.InvalidError{Release: rel.Name, Revision: rel.Version, Err: err}
	}
	plan, err := sequencer.Build(sequencer.Input{Root: rec.Charts, Resources: resources, Namespace: rel.Namespace})
	if err != nil {
		return nil, nil, &releaserecord.InvalidError{Release: rel.Name, Revision: rel.Version, Err: err}
	}
	return plan, rec, nil
}

// isUnusable reports whether an error says that a record cannot be used.
func isUnusable(err error) bool {
	var invalid *releaserecord.InvalidError
	return errors.As(err, &invalid)
}

// Order is what a release remembers of the order in which it was deployed
// (docs/reference.md, "The release record").
type Order struct {
	// Followed is whether this revision was deployed in order. It is false where
	// another program has copied the revision, as stock Helm's rollback does.
	Followed bool `json:"ordered"`
	// Nodes is how many nodes it has.
	Nodes int `json:"nodes"`
	// Removing is whether Done are the nodes that an uninstall has removed.
	Removing bool `json:"removing,omitempty"`
	// Interrupted is whether the operation on this revision has not come to its
	// end, or failed; Done are the nodes it was done with by then, sorted.
	Interrupted bool     `json:"interrupted,omitempty"`
	Done        []string `json:"done,omitempty"`
	// At are the nodes that were begun and are not done, sorted.
	At []string `json:"at,omitempty"`
}

// OrderOf reads what a release remembers of its order; nil if it was not deployed
// in one.
func OrderOf(rel *release.Release) (*Order, error) {
	plan, rec, err := storedPlan(rel)
	if err != nil || plan == nil {
		return nil, err
	}
	order := &Order{Followed: rec.Revision == rel.Version, Nodes: len(plan.Nodes)}
	if p := rec.ProgressFor(rel.Version); p != nil {
		order.Interrupted, order.Removing, order.Done, order.At, order.Nodes = true, p.Uninstalling, p.DoneNodes, p.RunningNodes, p.TotalNodes
	}
	return order, nil
}
