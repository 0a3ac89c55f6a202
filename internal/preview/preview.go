// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package preview says what an install or an upgrade would do, object by object, without
// changing anything (docs/reference.md, "helm plan").
package preview

import (
	"slices"

	"github.com/ordered-helm/helm/internal/hookrunner"
)

// Preview is what an install or upgrade would do (docs/reference.md, "helm plan"). Its JSON
// form is that of helm plan.
type Preview struct {
	Release   string `json:"release"`
	Namespace string `json:"namespace"`
	// Operation is "install" or "upgrade".
	Operation string `json:"operation"`
	// Revision is the one that would be recorded.
	Revision int `json:"revision"`
	// Ordered is whether the operation would follow the order that the chart declares.
	// Without an order everything is one node.
	Ordered bool `json:"ordered"`
	// Changes is whether any object would be created, changed or deleted, and Fails
	// whether the server rejects any of that.
	Changes bool `json:"changes"`
	Fails   bool `json:"fails"`
	// First is what is created before anything else: the namespace of the release, and
	// definitions from crds/ directories and hooks.
	First []Object `json:"first"`
	// Nodes are what is deployed, in the order in which nodes would start if each took
	// equally long.
	Nodes []Node `json:"nodes"`
	// Removed is what the release no longer has, in the order of its deletion.
	Removed []Node `json:"removed"`
	// Hooks are the hooks that run, by event, in their order.
	Hooks []hookrunner.Plan `json:"hooks"`
}

// Node is what would become of the objects of a node.
type Node struct {
	// Node is its ID, as in events.
	Node    string   `json:"node"`
	Objects []Object `json:"objects"`
}

// Action is what would be done with an object.
type Action string

const (
	// Create creates the object.
	Create Action = "create"
	// Change changes the object.
	Change Action = "change"
	// Delete deletes the object.
	Delete Action = "delete"
	// Unchanged leaves the object as it is, because it is as declared.
	Unchanged Action = "unchanged"
	// Keep leaves the object although the release no longer has it.
	Keep Action = "keep"
	// Fail fails, because the server rejects the object.
	Fail Action = "fail"
)

// Object is what would become of an object.
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
	// Note says what else there is to know.
	Note string `json:"note,omitempty"`
	// Error is what the server says if it rejects the object.
	Error string `json:"error,omitempty"`
}

// Count says with how many objects something would be done.
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
