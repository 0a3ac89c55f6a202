// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package preview finds out what an install or an upgrade would do with each object,
// without changing anything (docs/reference.md, "helm plan"). It sends dry-run requests
// through package deploy.
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
	// First has the objects that would be created before all others: the namespace of the
	// release, and CRDs from crds/ directories and hooks.
	First []Object `json:"first"`
	// Nodes has the nodes that would be deployed (sets of resources that are applied
	// together), in the order in which they would start if each took the same time.
	Nodes []Node `json:"nodes"`
	// Removed has the objects that the release would no longer have, in the order of their
	// deletion, including those that would be kept.
	Removed []Node `json:"removed"`
	// Hooks has the hooks that would run, by event, in the order in which they would run.
	Hooks []hookrunner.Plan `json:"hooks"`
}

// Node has what would be done with the objects of one node.
type Node struct {
	// Node is the ID of the node, as in events.
	Node    string   `json:"node"`
	Objects []Object `json:"objects"`
}

// Action says what would be done with an object.
type Action string

const (
	// Create means that the object would be created.
	Create Action = "create"
	// Change means that the object would be changed.
	Change Action = "change"
	// Delete means that the object would be deleted.
	Delete Action = "delete"
	// Unchanged means that the object already is as declared.
	Unchanged Action = "unchanged"
	// Keep means that the object would not be deleted, although the release would no longer
	// have it.
	Keep Action = "keep"
	// Fail means that the server would reject the object, or its deletion.
	Fail Action = "fail"
)

// Object says what would be done with one object.
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
	// Error is the error of the server if it would reject the object or its deletion.
	Error string `json:"error,omitempty"`
}

// Count returns the number of objects with which what would be done.
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

// summarize sets the fields Fails and Changes.
func (p *Preview) summarize() {
	p.Fails = p.Count(Fail) > 0
	p.Changes = slices.ContainsFunc([]Action{Create, Change, Delete, Fail}, func(what Action) bool {
		return p.Count(what) > 0
	})
}
