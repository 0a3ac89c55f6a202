// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// node is a Deployment that is created after other nodes are ready.
type node struct {
	name  string
	needs []string
	// after is the time that its pod takes to become ready.
	after time.Duration
}

// graph is a list of nodes, each after all nodes that it depends on.
type graph []node

func name(i int) string { return fmt.Sprintf("d%03d", i) }

// chain returns n nodes, each of which depends on the previous one.
func chain(n int) graph {
	g := make(graph, n)
	for i := range g {
		g[i].name = name(i)
		if i > 0 {
			g[i].needs = []string{name(i - 1)}
		}
	}
	return g
}

// fanOut returns one node, n nodes that depend on it, and a node that depends on all of these.
func fanOut(n int) graph {
	g := graph{{name: "first"}}
	last := node{name: "last"}
	for i := range n {
		g = append(g, node{name: name(i), needs: []string{"first"}})
		last.needs = append(last.needs, name(i))
	}
	return append(g, last)
}

// random returns n nodes that depend on up to three of the previous eight, with pods that
// become ready after 100 to 600 ms. The graph is the same in every run.
func random(n int) graph {
	const most, near = 3, 8
	numbers := rand.New(rand.NewPCG(1, 2))
	g := make(graph, n)
	for i := range g {
		g[i] = node{name: name(i), after: time.Duration(100+numbers.IntN(501)) * time.Millisecond}
		before := g[max(0, i-near):i]
		for _, j := range numbers.Perm(len(before))[:min(len(before), numbers.IntN(most+1))] {
			g[i].needs = append(g[i].needs, before[j].name)
		}
		slices.Sort(g[i].needs)
	}
	return g
}

// levels returns the same nodes with a barrier after each level of the graph: each node
// depends on all nodes of the previous level.
func (g graph) levels() graph {
	level := map[string]int{}
	byLevel := map[int][]string{}
	for _, n := range g {
		for _, need := range n.needs {
			level[n.name] = max(level[n.name], level[need]+1)
		}
		byLevel[level[n.name]] = append(byLevel[level[n.name]], n.name)
	}
	barred := slices.Clone(g)
	for i := range barred {
		barred[i].needs = byLevel[level[barred[i].name]-1]
	}
	return barred
}

// walk tracks which nodes of a graph are ready, and which nodes can start.
type walk struct {
	graph   graph
	missing map[string]int // the number of dependencies that a node still waits for
	isDone  map[string]bool
	left    int
}

func (g graph) begin() *walk {
	w := &walk{graph: g, missing: map[string]int{}, isDone: map[string]bool{}, left: len(g)}
	for _, n := range g {
		w.missing[n.name] = len(n.needs)
	}
	return w
}

// first returns the nodes without dependencies, which can start first.
func (w *walk) first() (ready []node) {
	for _, n := range w.graph {
		if len(n.needs) == 0 {
			ready = append(ready, n)
		}
	}
	return ready
}

// done marks a node as done, and returns the nodes that can start now.
func (w *walk) done(name string) (ready []node) {
	if w.isDone[name] {
		return nil
	}
	w.isDone[name] = true
	w.left--
	for _, n := range w.graph {
		if slices.Contains(n.needs, name) {
			if w.missing[n.name]--; w.missing[n.name] == 0 {
				ready = append(ready, n)
			}
		}
	}
	return ready
}

// manifest returns the manifest of a node, with additional annotations.
func (n node) manifest(annotations ...string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: %s\n", n.name)
	if len(annotations) > 0 {
		fmt.Fprintf(&text, "  annotations:\n    %s\n", strings.Join(annotations, "\n    "))
	}
	fmt.Fprintf(&text, "spec:\n  selector: {matchLabels: {app: %[1]s}}\n  template:\n    metadata:\n      labels: {app: %[1]s}\n"+
		"      annotations: {devcluster/after: %[2]s}\n    spec: {containers: [{name: c, image: i}]}\n", n.name, n.after)
	return text.String()
}

// layersChart writes a chart in which each node is a layer. Its annotations are strings, so
// that stock Helm can install it too.
func (g graph) layersChart(b *testing.B) string {
	b.Helper()
	var text strings.Builder
	for _, n := range g {
		annotations := []string{"helm.sh/layer: " + n.name}
		if len(n.needs) > 0 {
			annotations = append(annotations, "depends-on.helm.sh/layers: '[\""+strings.Join(n.needs, `","`)+"\"]'")
		}
		text.WriteString(n.manifest(annotations...))
	}
	return writeChart(b, text.String())
}

// subcharts writes a chart in which each node is a subchart.
func (g graph) subcharts(b *testing.B) string {
	b.Helper()
	metadata := orderedChart + "dependencies:\n"
	files := map[string]string{}
	for _, n := range g {
		metadata += fmt.Sprintf("  - {name: %s, version: 0.1.0, depends-on: [%s]}\n", n.name, strings.Join(n.needs, ", "))
		files["charts/"+n.name+"/Chart.yaml"] = fmt.Sprintf("apiVersion: v2\nname: %s\nversion: 0.1.0\n", n.name)
		files["charts/"+n.name+"/templates/all.yaml"] = n.manifest()
	}
	files["Chart.yaml"] = metadata
	return writeFiles(b, files)
}
