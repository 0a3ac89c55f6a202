// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"errors"
	"slices"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/hookorder"
	"github.com/ordered-helm/helm/internal/latehooks"
	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/placeholder"
	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// Plan rebuilds the deployment graph of a stored revision from its manifest and its order
// record. It also returns the order record. Both results are nil if there is no order
// record, or if the order record does not describe an order. If the manifest cannot be read, the
// error is a *placeholder.UnreadableError.
func Plan(rel *release.Release) (*sequencer.Plan, *orderrecord.Record, error) {
	plan, rec, err := PlanFor(rel, PlanOptions{})
	if plan != nil {
		plan.Notes = latehooks.Notes(plan, latehooks.Hooks(rel.Hooks, func(file string) string { return render.ChartOf(rec.Charts, file) }))
	}
	return plan, rec, err
}

// PlanOptions say for what PlanFor rebuilds a deployment graph.
type PlanOptions struct {
	// Operation is the operation that follows the graph; empty if the graph is only shown.
	Operation sequencer.Operation
	// AsDeployed builds the graph for the operation that has deployed the revision.
	AsDeployed bool
	// DisableHooks says that the operation runs no hooks, and IgnoreExternal that it does not wait for external
	// dependencies.
	DisableHooks, IgnoreExternal bool
}

// PlanFor is like Plan, for an operation. The graph contains the steps that run the hooks of charts.
func PlanFor(rel *release.Release, o PlanOptions) (*sequencer.Plan, *orderrecord.Record, error) {
	if err := placeholder.CheckReadable(rel); err != nil {
		return nil, nil, err
	}
	rec, err := orderrecord.Read(rel)
	if err != nil || rec == nil || !rec.Ordered {
		return nil, nil, err
	}
	resources, err := render.Resources(rel.Manifest, rec.DocumentCharts, rec.Charts, false)
	if err != nil {
		return nil, nil, &orderrecord.InvalidError{Release: rel.Name, Revision: rel.Version, Err: err}
	}
	if o.AsDeployed {
		o.Operation = rec.Operation
	}
	files, err := rec.OrderFileSet()
	if err != nil {
		return nil, nil, &orderrecord.InvalidError{Release: rel.Name, Revision: rel.Version, Err: err}
	}
	in := sequencer.Input{Root: rec.Charts, Resources: resources, Namespace: rel.Namespace, OrderFiles: files, Operation: o.Operation, IgnoreExternal: o.IgnoreExternal}
	if !o.DisableHooks {
		in.Hooks = render.PlannedHooks(rec.Charts, rel.Hooks)
	}
	plan, err := sequencer.Build(in)
	if err != nil {
		return nil, nil, &orderrecord.InvalidError{Release: rel.Name, Revision: rel.Version, Err: err}
	}
	return plan, rec, nil
}

// PlanOrSingleNode is like PlanFor, but for a revision that was not deployed in order it
// returns a graph with a single node, which contains all resources. If lenient is true, it
// does the same for a revision whose order record cannot be used, instead of returning an
// error.
func PlanOrSingleNode(rel *release.Release, lenient bool, o PlanOptions) (*sequencer.Plan, error) {
	plan, _, err := PlanFor(rel, o)
	if plan != nil {
		return plan, nil
	}
	if err != nil && (!lenient || !IsInvalidRecord(err)) {
		return nil, err
	}
	name := ChartName(rel)
	resources, err := render.Resources(rel.Manifest, nil, &sequencer.Chart{Name: name}, false)
	if err != nil {
		return nil, err
	}
	return sequencer.Unordered(name, resources, rel.Namespace), nil
}

// IsInvalidRecord reports whether err is an *orderrecord.InvalidError.
func IsInvalidRecord(err error) bool {
	_, unusable := errors.AsType[*orderrecord.InvalidError](err)
	return unusable
}

// HookModes returns which hooks of a stored revision can run in parallel, as its order
// record declares. If the order record cannot be used, all hooks run sequentially in Helm's
// order, and the error says what is wrong with the order record.
func HookModes(rel *release.Release) (hookorder.ChartModes, error) {
	rec, err := orderrecord.Read(rel)
	if rec == nil {
		return hookorder.ChartModes{}, err
	}
	return render.HookModes(rec.Charts, rel.Namespace), err
}

// HookModesOrWarn is like HookModes, but emits the error as a warning.
func HookModesOrWarn(rel *release.Release, events *event.Sink) hookorder.ChartModes {
	modes, err := HookModes(rel)
	if err != nil {
		events.Warnf("hooks run one at a time: %v", err)
	}
	return modes
}

// DeclaresHooks reports whether the chart c or any of its subcharts declares something about
// its hooks that Helm does not know: that they can run in parallel (runHooksInParallel in
// Chart.yaml), or that they are managed, as in charts of the format helm.sh/v3.
func DeclaresHooks(c *sequencer.Chart) bool {
	return c.HookMode != "" || c.ManagesHooks || slices.ContainsFunc(c.Subcharts, DeclaresHooks)
}

// Order describes the order in which a revision was deployed, and which nodes of its
// deployment graph an unfinished operation has completed. The order record of the revision
// contains these facts (docs/reference.md, "The order record").
type Order struct {
	// Followed says whether this revision was deployed in the order. It is false if the
	// order record was written for another revision, and a rollback with stock Helm copied
	// it into this one.
	Followed bool `json:"ordered"`
	// Nodes is the number of nodes in the deployment graph.
	Nodes int `json:"nodes"`
	// Removing says whether the operation is an uninstall. The nodes in Done are then
	// deleted, not deployed.
	Removing bool `json:"removing,omitempty"`
	// Interrupted says whether the operation on this revision is still running, has failed,
	// or terminated unexpectedly. Done contains the sorted IDs of the nodes that it
	// finished.
	Interrupted bool     `json:"interrupted,omitempty"`
	Done        []string `json:"done,omitempty"`
	// At contains the sorted IDs of the nodes that the operation started but did not finish.
	At []string `json:"at,omitempty"`
}

// OrderOf returns what the order record of a revision says about its order, or nil if it
// describes none.
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
