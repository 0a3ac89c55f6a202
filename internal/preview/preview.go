// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package preview finds out what an install or an upgrade would do with each object,
// without changing anything (docs/reference.md, "helm plan").
package preview

import (
	"slices"

	"github.com/ordered-helm/helm/internal/hookrunner"
)

// Preview describes what an install or upgrade would do (docs/reference.md, "helm plan").
// Its JSON form is the output of helm plan.
type Preview struct {
	Release   string `json:"release"`
	Namespace string `json:"namespace"`
	// Operation is "install" or "upgrade".
	Operation string `json:"operation"`
	// Revision is the revision that would be created.
	Revision int `json:"revision"`
	// Ordered says whether the operation would follow the order that the chart declares.
	// Without an order, all objects are in one node.
	Ordered bool `json:"ordered"`
	// Changes says whether any object would be created, changed or deleted. Fails says
	// whether the server would reject any of this.
	Changes bool `json:"changes"`
	Fails   bool `json:"fails"`
	// First has the objects that are created before all others: the namespace of the
	// release, and CRDs from crds/ directories and hooks.
	First []Object `json:"first"`
	// Nodes has the nodes that are deployed, in the order in which they would start if each
	// took the same time.
	Nodes []Node `json:"nodes"`
	// Removed has the objects that the release no longer has, in the order of their
	// deletion.
	Removed []Node `json:"removed"`
	// Hooks has the hooks that run, by event, in the order in which they run.
	Hooks []hookrunner.Plan `json:"hooks"`
}

// Node has the results for the objects of a node.
type Node struct {
	// Node is the ID of the node, as in events.
	Node    string   `json:"node"`
	Objects []Object `json:"objects"`
}

// Action is the action that would be taken for an object.
type Action string

const (
	// Create creates the object.
	Create Action = "create"
	// Change changes the object.
	Change Action = "change"
	// Delete deletes the object.
	Delete Action = "delete"
	// Unchanged does not change the object, because it already is as declared.
	Unchanged Action = "unchanged"
	// Keep does not delete the object, although the release no longer has it.
	Keep Action = "keep"
	// Fail means that the server rejects the object.
	Fail Action = "fail"
)

// Object is the result for one object.
type Object struct {
	Action     Action `json:"action"`
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Namespace is empty for a cluster-scoped object.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Diff is a unified diff of the YAML of the object, without the fields that the server
	// maintains. The contents of Secrets are masked. Only a change has a diff.
	Diff string `json:"diff,omitempty"`
	// Note has additional information for the user.
	Note string `json:"note,omitempty"`
	// Error is the error of the server if it rejects the object.
	Error string `json:"error,omitempty"`
}

// Count returns the number of objects with an action.
func (p *Preview) Count(what Action) int {
	n := 0
	p.each(func(o *Object) {
		if o.Action == what {
			n++
		}
	})
	return n
}

func (p *Preview) each(do func(*Object)) {
	for i := range p.First {
		do(&p.First[i])
	}
	for _, nodes := range [][]Node{p.Nodes, p.Removed} {
		for i := range nodes {
			for j := range nodes[i].Objects {
				do(&nodes[i].Objects[j])
			}
		}
	}
}

// summarize sets Fails and Changes.
func (p *Preview) summarize() {
	p.Fails = p.Count(Fail) > 0
	p.Changes = slices.ContainsFunc([]Action{Create, Change, Delete, Fail}, func(what Action) bool {
		return p.Count(what) > 0
	})
}
