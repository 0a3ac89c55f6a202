// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package dag

import "context"

// Outcome is the result of a vertex in a walk.
type Outcome struct {
	// Started is whether the vertex was visited.
	Started bool
	// Err is the error of the visit.
	Err error
}

// Walk visits each vertex of an acyclic graph in its own goroutine, as soon as all its
// dependencies were visited without an error. After the first error, or when ctx is done,
// it starts no further visits. It returns when all visits have returned, with the outcome
// of each vertex. After is the last dependency that the vertex waited for, or -1 if it has
// none.
func Walk(ctx context.Context, g *Graph, visit func(ctx context.Context, v, after int) error) []Outcome {
	w := walker{
		outcomes:   make([]Outcome, g.Len()),
		pending:    make([]int, g.Len()),
		dependents: g.Reverse(),
		done:       make(chan result),
	}
	w.start = func(v, after int) {
		w.outcomes[v].Started = true
		w.running++
		go func() { w.done <- result{v, visit(ctx, v, after)} }()
	}
	w.run(ctx, g)
	return w.outcomes
}

// noVertex stands for no vertex.
const noVertex = -1

type result struct {
	vertex int
	err    error
}

// walker is the state of a walk. Only the goroutine that called Walk uses it.
type walker struct {
	outcomes   []Outcome
	pending    []int // the number of dependencies that each vertex still waits for
	dependents *Graph
	done       chan result
	running    int
	stopped    bool
	start      func(v, after int)
}

func (w *walker) run(ctx context.Context, g *Graph) {
	for v := range w.pending {
		w.pending[v] = len(g.Dependencies(v))
	}
	for v := range w.pending {
		if w.pending[v] == 0 && ctx.Err() == nil {
			w.start(v, noVertex)
		}
	}
	for w.running > 0 {
		r := <-w.done
		w.running--
		w.handleResult(ctx, r)
	}
}

// handleResult records the outcome of a vertex, and starts the vertices that waited only
// for it.
func (w *walker) handleResult(ctx context.Context, r result) {
	w.outcomes[r.vertex].Err = r.err
	if r.err != nil || ctx.Err() != nil {
		w.stopped = true
	}
	if w.stopped {
		return
	}
	for _, v := range w.dependents.Dependencies(r.vertex) {
		if w.pending[v]--; w.pending[v] == 0 {
			w.start(v, r.vertex)
		}
	}
}
