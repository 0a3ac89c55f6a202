// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import "slices"

// Preview is what an install or upgrade would do (docs/reference.md, "helm plan").
// Its JSON form is that of helm plan.
type Preview struct {
	Release   string `json:"release"`
	Namespace string `json:"namespace"`
	// Operation is "install" or "upgrade".
	Operation string `json:"operation"`
	// Revision is the one that would be recorded.
	Revision int `json:"revision"`
	// Ordered is whether it would go by the order that the chart declares. Without
	// one everything is one node.
	Ordered bool `json:"ordered"`
	// Changes is whether any object would be created, changed or deleted, and Fails
	// whether the server refuses any of that.
	Changes bool `json:"changes"`
	Fails   bool `json:"fails"`
	// First is what is created before anything else: the release's namespace, and
	// definitions from crds/ folders and hooks.
	First []PreviewObject `json:"first"`
	// Nodes are what is deployed, in the order in which nodes would begin if each
	// took equally long.
	Nodes []PreviewNode `json:"nodes"`
	// Removed is what the release no longer has, in the order of its deletion.
	Removed []PreviewNode `json:"removed"`
	// Hooks are the hooks that run, by event, in their order.
	Hooks []HookPlan `json:"hooks"`
}

// PreviewNode is what would become of the objects of a node.
type PreviewNode struct {
	// Node is its ID, as in events.
	Node    string          `json:"node"`
	Objects []PreviewObject `json:"objects"`
}

// PreviewAction is what would be done with an object.
type PreviewAction string

const (
	// PreviewCreate creates it.
	PreviewCreate PreviewAction = "create"
	// PreviewChange changes it.
	PreviewChange PreviewAction = "change"
	// PreviewDelete deletes it.
	PreviewDelete PreviewAction = "delete"
	// PreviewUnchanged leaves it: it is as declared.
	PreviewUnchanged PreviewAction = "unchanged"
	// PreviewKeep leaves it although the release no longer has it.
	PreviewKeep PreviewAction = "keep"
	// PreviewFail fails: the server refuses it.
	PreviewFail PreviewAction = "fail"
)

// PreviewObject is what would become of an object.
type PreviewObject struct {
	Action     PreviewAction `json:"action"`
	APIVersion string        `json:"apiVersion"`
	Kind       string        `json:"kind"`
	// Namespace is empty for an object that has none.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Diff is a unified diff of the object's YAML, without what the server keeps
	// for itself; what Secrets hold is masked. Only a change has one.
	Diff string `json:"diff,omitempty"`
	// Note says what else there is to know.
	Note string `json:"note,omitempty"`
	// Error is what the server says if it refuses the object.
	Error string `json:"error,omitempty"`
}

// Count says with how many objects something would be done.
func (p *Preview) Count(what PreviewAction) int {
	n := 0
	p.each(func(o *PreviewObject) {
		if o.Action == what {
			n++
		}
	})
	return n
}

func (p *Preview) each(do func(*PreviewObject)) {
	for i := range p.First {
		do(&p.First[i])
	}
	for _, nodes := range [][]PreviewNode{p.Nodes, p.Removed} {
		for i := range nodes {
			for j := range nodes[i].Objects {
				do(&nodes[i].Objects[j])
			}
		}
	}
}

// conclude sums up what was found.
func (p *Preview) conclude() {
	p.Fails = p.Count(PreviewFail) > 0
	p.Changes = slices.ContainsFunc([]PreviewAction{PreviewCreate, PreviewChange, PreviewDelete, PreviewFail}, func(what PreviewAction) bool {
		return p.Count(what) > 0
	})
}
