// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package graphview

import (
	"bufio"

	"github.com/ordered-helm/helm/internal/hookorder"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/text"
)

// These types define the JSON output (docs/reference.md, "The graph as JSON").
type (
	jsonGraph struct {
		Version      int               `json:"version"`
		Chart        string            `json:"chart"`
		ComparedWith *jsonComparedWith `json:"comparedWith,omitempty"`
		Batches      int               `json:"batches"`
		Charts       []string          `json:"charts"`
		Nodes        []jsonNode        `json:"nodes"`
		Edges        []jsonEdge        `json:"edges"`
		External     []jsonExternal    `json:"external,omitempty"`
		Hooks        []hookorder.Plan  `json:"hooks"`
	}
	jsonComparedWith struct {
		Release  string `json:"release"`
		Revision int    `json:"revision"`
	}
	jsonNode struct {
		ID        string         `json:"id"`
		Chart     string         `json:"chart"`
		Type      string         `json:"type"`
		Layer     string         `json:"layer,omitempty"`
		Batch     int            `json:"batch,omitempty"`
		Change    change         `json:"change,omitempty"`
		Resources []jsonResource `json:"resources"`
	}
	jsonResource struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Namespace  string `json:"namespace,omitempty"`
		Name       string `json:"name"`
		File       string `json:"file"`
		Change     change `json:"change,omitempty"`
		Was        string `json:"was,omitempty"`
	}
	jsonEdge struct {
		First   jsonEnd      `json:"first"`
		Then    jsonEnd      `json:"then"`
		Implied bool         `json:"implied,omitempty"`
		Change  change       `json:"change,omitempty"`
		Reasons []jsonReason `json:"reasons"`
	}
	jsonEnd struct {
		Node  string `json:"node,omitempty"`
		Chart string `json:"chart,omitempty"`
		Own   bool   `json:"own,omitempty"`
	}
	jsonExternal struct {
		Dependency string       `json:"dependency"`
		Chart      string       `json:"chart"`
		Node       string       `json:"node,omitempty"`
		Timeout    string       `json:"timeout,omitempty"`
		Change     change       `json:"change,omitempty"`
		Reasons    []jsonReason `json:"reasons"`
	}
	jsonReason struct {
		File     string `json:"file,omitempty"`
		Resource string `json:"resource,omitempty"`
		Key      string `json:"key,omitempty"`
		Value    string `json:"value,omitempty"`
		Implicit bool   `json:"implicit,omitempty"`
	}
)

func (v *View) json(out *bufio.Writer) error {
	edges := v.Plan.Edges()
	d := v.compare(edges)
	g := jsonGraph{
		Version: 1, Chart: v.Plan.Charts[0].Path, Batches: len(v.Plan.Levels()),
		Charts: []string{}, Nodes: []jsonNode{}, Edges: []jsonEdge{}, Hooks: append([]hookorder.Plan{}, v.Hooks...),
	}
	if v.CompareWith != nil {
		g.ComparedWith = &jsonComparedWith{v.CompareWith.Release, v.CompareWith.Revision}
	}
	for _, c := range v.Plan.Charts {
		g.Charts = append(g.Charts, c.Path)
	}
	for _, n := range v.Plan.Nodes {
		g.Nodes = append(g.Nodes, d.jsonNode(n))
	}
	for _, n := range d.removedNodes {
		g.Nodes = append(g.Nodes, d.jsonNode(n))
	}
	for _, e := range append(edges, d.removedEdges...) {
		g.Edges = append(g.Edges, d.jsonEdge(e))
	}
	for _, e := range d.external {
		g.External = append(g.External, jsonExternalOf(e))
	}
	return text.WriteJSON(out, g)
}

func jsonExternalOf(e externalDependency) jsonExternal {
	j := jsonExternal{Dependency: e.Need.String(), Chart: e.chart, Change: e.change}
	if e.node != nil {
		j.Node = e.node.ID()
	}
	if e.timeout > 0 {
		j.Timeout = e.timeout.String()
	}
	for _, r := range e.Reasons {
		j.Reasons = append(j.Reasons, jsonReason(r))
	}
	return j
}

func (d *planDiff) jsonNode(n *sequencer.Node) jsonNode {
	j := jsonNode{ID: n.ID(), Chart: n.Chart, Type: "resource", Layer: n.Layer, Change: d.nodes[n.ID()], Resources: []jsonResource{}}
	switch {
	case n.Unsequenced:
		j.Type = "unsequenced"
	case n.Layer != "":
		j.Type = "layer"
	}
	add := func(r *sequencer.PlannedResource, c change, was string) {
		j.Resources = append(j.Resources, jsonResource{
			APIVersion: r.APIVersion, Kind: r.ID.Kind, Namespace: r.ID.Namespace, Name: r.ID.Name, File: r.File, Change: c, Was: was,
		})
	}
	if j.Change != removed {
		j.Batch = n.Level + 1
		for _, r := range n.Resources {
			c, was := d.ofResource(n, r)
			add(r, c, was)
		}
	}
	for _, r := range d.removedFrom[n.ID()] {
		add(r, removed, "")
	}
	return j
}

func (d *planDiff) jsonEdge(e sequencer.Edge) jsonEdge {
	j := jsonEdge{First: jsonEndOf(e.First), Then: jsonEndOf(e.Then), Implied: e.Implied, Change: d.edges[edgeKey(e)]}
	for _, r := range e.Reasons {
		j.Reasons = append(j.Reasons, jsonReason(r))
	}
	return j
}

func jsonEndOf(e sequencer.EdgeEnd) jsonEnd {
	if e.Node != nil {
		return jsonEnd{Node: e.Node.ID()}
	}
	return jsonEnd{Chart: e.Chart, Own: e.Own}
}
