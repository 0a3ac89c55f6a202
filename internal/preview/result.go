// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package preview finds out what an install or upgrade would do with each object, without
// changing anything (docs/reference.md, "helm plan"). It uses the dry-run requests of
// package deploy.
package preview

import (
	"fmt"
	"slices"

	"github.com/ordered-helm/helm/internal/drift"
	"github.com/ordered-helm/helm/internal/hookorder"
	"github.com/ordered-helm/helm/internal/objectwriter"
)

// Preview describes what an install or upgrade would do (docs/reference.md, "helm plan").
// Its JSON encoding is the output of "helm plan -o json".
type Preview struct {
	Release   string `json:"release"`
	Namespace string `json:"namespace"`
	// Operation is "install" or "upgrade".
	Operation string `json:"operation"`
	// Revision is the revision that would be created.
	Revision int `json:"revision"`
	// Ordered says whether the operation would follow the order that the charts declare.
	// Without an order, all objects are in one node.
	Ordered bool `json:"ordered"`
	// Changes says whether any object would be created, changed, recreated or deleted, or would fail.
	// Fails says whether the server would reject any object or deletion.
	Changes bool `json:"changes"`
	Fails   bool `json:"fails"`
	// First contains the objects that would be created before all others: the namespace of
	// the release, and CRDs from crds/ directories and crd-install hooks.
	First []Object `json:"first"`
	// Nodes contains the nodes of the deployment graph (sets of resources that are deployed
	// as a unit), in the order in which they would start if each took equally long.
	Nodes []Node `json:"nodes"`
	// External contains the external dependencies of the charts and nodes, and how they stand. Skipped
	// contains the objects that do not take part in the operation. Both are empty without an order.
	External []External `json:"external,omitempty"`
	Skipped  []Object   `json:"skipped,omitempty"`
	// Removed contains the objects that are no longer in the chart, in the order in which
	// they would be deleted. It includes objects that would be kept.
	Removed []Node `json:"removed"`
	// Hooks contains the hooks that would run, for each event, in the order in which they
	// would run.
	Hooks []hookorder.Plan `json:"hooks"`
}

// Node describes what would happen to the objects of one node of the deployment graph.
type Node struct {
	// Node is the ID of the node, as in events.
	Node    string   `json:"node"`
	Objects []Object `json:"objects"`
}

// Action is what would happen to an object.
type Action string

const (
	// Create means that the object would be created.
	Create Action = "create"
	// Change means that the object would be changed.
	Change Action = "change"
	// Delete means that the object is no longer in the chart, and would be deleted.
	Delete Action = "delete"
	// Unchanged means that the object is as declared.
	Unchanged Action = "unchanged"
	// Keep means that the object is no longer in the chart, but would be kept.
	Keep Action = "keep"
	// Fail means that the server would reject the object, or its deletion.
	Fail Action = "fail"
	// Recreate means that the object cannot be changed in place, and would be deleted and created again.
	Recreate Action = "recreate"
	// Rename means that the object would be created in place of one of the previous revision, which would be
	// deleted, and that they differ only in the number of the revision in their name and content. It
	// does not count as a change.
	Rename Action = "rename"
	// Skip means that the object does not take part in the operation (helm.sh/deploy-on), and would be
	// left as it is.
	Skip Action = "skip"
)

// Object describes what would happen to one object.
type Object struct {
	Action     Action `json:"action"`
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Namespace is empty for a cluster-scoped object.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Was is the name of the object that would be deleted, for the action Rename.
	Was string `json:"was,omitempty"`
	// Diff is a unified diff of the YAML of the object, for the action Change. It omits
	// fields that the server maintains, and masks the contents of Secrets.
	Diff string `json:"diff,omitempty"`
	// Drift contains the fields that somebody else has changed since the deployed revision, and that the
	// operation would change, for the actions Change and Recreate. The contents of Secrets are masked.
	Drift []drift.Field `json:"drift,omitempty"`
	// Note is additional information for the user; it can be empty.
	Note string `json:"note,omitempty"`
	// Error is the error of the server, for the action Fail.
	Error string `json:"error,omitempty"`

	// live and planned are the texts between which Diff shows the differences.
	live, planned string
	// dryRun is the answer of the server from which the action was derived; nil if there is none.
	dryRun *objectwriter.DryRunResult
	// labels are the declared labels.
	labels map[string]string
	// overwritten finds Drift.
	overwritten overwrittenDrift
	// change is the change of the object, for the action Change; nil if the server has not checked it.
	change *change
}

// isSame reports whether two Objects are about the same object of the cluster.
func (o *Object) isSame(other Object) bool {
	return o.APIVersion == other.APIVersion && o.Kind == other.Kind && o.Namespace == other.Namespace && o.Name == other.Name
}

// SetContext sets the number of unchanged lines that diffs show before and after each change. The default is 3.
// It returns an error if lines is negative.
func (p *Preview) SetContext(lines int) error {
	if lines < 0 {
		return fmt.Errorf("%d lines of context: the number must not be negative", lines)
	}
	p.each(func(o *Object) {
		if o.live != o.planned {
			o.Diff = unifiedDiff(o.live, o.planned, lines)
		}
	})
	return nil
}

// Count returns the number of objects with the given action.
func (p *Preview) Count(action Action) int {
	n := 0
	p.each(func(o *Object) {
		if o.Action == action {
			n++
		}
	})
	return n
}

// each calls do with each object of the preview.
func (p *Preview) each(do func(*Object)) {
	for i := range p.First {
		do(&p.First[i])
	}
	for i := range p.Skipped {
		do(&p.Skipped[i])
	}
	for _, nodes := range [][]Node{p.Nodes, p.Removed} {
		for i := range nodes {
			for j := range nodes[i].Objects {
				do(&nodes[i].Objects[j])
			}
		}
	}
}

// summarize sets the fields Fails and Changes.
func (p *Preview) summarize() {
	p.Fails = p.Count(Fail) > 0
	p.Changes = slices.ContainsFunc([]Action{Create, Change, Recreate, Delete, Fail}, func(action Action) bool {
		return p.Count(action) > 0
	})
}
