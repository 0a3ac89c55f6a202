// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"errors"
	"slices"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/hookrunner"
	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// Plan rebuilds the dependency graph of a stored release from its record: the data that the
// release stores about its order. It also returns the record. Both are nil if the release
// was not deployed in order.
func Plan(rel *release.Release) (*sequencer.Plan, *orderrecord.Record, error) {
	rec, err := orderrecord.Read(rel)
	if err != nil || rec == nil || !rec.Ordered {
		return nil, nil, err
	}
	resources, err := render.Resources(rel.Manifest, rec.DocumentCharts, rec.Charts, false)
	if err != nil {
		return nil, nil, &orderrecord.InvalidError{Release: rel.Name, Revision: rel.Version, Err: err}
	}
	plan, err := sequencer.Build(sequencer.Input{Root: rec.Charts, Resources: resources, Namespace: rel.Namespace})
	if err != nil {
		return nil, nil, &orderrecord.InvalidError{Release: rel.Name, Revision: rel.Version, Err: err}
	}
	return plan, rec, nil
}

// PlanOrSingleNode is Plan, but for a revision that was not deployed in order it returns a
// plan with a single node. If lenient is true, it does the same for a revision whose record
// cannot be used.
func PlanOrSingleNode(rel *release.Release, lenient bool) (*sequencer.Plan, error) {
	plan, _, err := Plan(rel)
	if plan != nil {
		return plan, nil
	}
	if err != nil && (!lenient || !IsUnusable(err)) {
		return nil, err
	}
	name := ChartName(rel)
	resources, err := render.Resources(rel.Manifest, nil, &sequencer.Chart{Name: name}, false)
	if err != nil {
		return nil, err
	}
	return sequencer.Unordered(name, resources, rel.Namespace), nil
}

// IsUnusable reports whether err says that a release record cannot be used.
func IsUnusable(err error) bool {
	_, unusable := errors.AsType[*orderrecord.InvalidError](err)
	return unusable
}

// HookModes returns which hooks of a stored release run in parallel. If its record cannot
// be used, all of them run in Helm's order, and the error says why.
func HookModes(rel *release.Release) (hookrunner.Modes, error) {
	rec, err := orderrecord.Read(rel)
	if rec == nil {
		return hookrunner.Modes{}, err
	}
	return render.HookModes(rec.Charts, rel.Namespace), err
}

// HookModesOrWarn is HookModes, but emits the error as a warning to events.
func HookModesOrWarn(rel *release.Release, events *event.Sink) hookrunner.Modes {
	modes, err := HookModes(rel)
	if err != nil {
		events.Warnf("hooks run one at a time: %v", err)
	}
	return modes
}

// RunsHooksInParallel reports whether a chart or any of its subcharts declares a hook mode,
// so that its hooks can run in parallel.
func RunsHooksInParallel(c *sequencer.Chart) bool {
	return c.HookMode != "" || slices.ContainsFunc(c.Subcharts, RunsHooksInParallel)
}

// Order describes, for the user, the order in which a release was deployed and how far the
// operation got, according to the release record (docs/reference.md, "The order record").
type Order struct {
	// Followed says whether this revision was deployed in order. It is false if another
	// program has copied the record from another revision, as a rollback of stock Helm
	// does.
	Followed bool `json:"ordered"`
	// Nodes is the number of nodes: sets of resources that are deployed together.
	Nodes int `json:"nodes"`
	// Removing says that the operation is an uninstall. Done then has the nodes that it has
	// deleted.
	Removing bool `json:"removing,omitempty"`
	// Interrupted says whether the operation on this revision has not finished or has
	// failed. Done has the IDs of the finished nodes, sorted.
	Interrupted bool     `json:"interrupted,omitempty"`
	Done        []string `json:"done,omitempty"`
	// At has the IDs of the nodes that were started but are not finished, sorted.
	At []string `json:"at,omitempty"`
}

// OrderOf reads the order of a release from its record; nil if the release was not deployed
// in order.
func OrderOf(rel *release.Release) (*Order, error) {
	plan, rec, err := Plan(rel)
	if err != nil || plan == nil {
		return nil, err
	}
	order := &Order{Followed: rec.Revision == rel.Version, Nodes: len(plan.Nodes)}
	if p := rec.ProgressFor(rel.Version); p != nil {
		order.Interrupted, order.Removing, order.Done, order.At, order.Nodes = true, p.Uninstalling, p.DoneNodes, p.RunningNodes, p.TotalNodes
	}
	return order, nil
}
