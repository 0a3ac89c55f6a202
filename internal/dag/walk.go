// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package dag

import "context"

// Outcome says what became of one vertex in a walk.
type Outcome struct {
	// Started is whether the vertex was visited.
	Started bool
	// Err is what the visit returned.
	Err error
}

// Walk visits every vertex of an acyclic graph in a goroutine of its own, each
// the moment everything it depends on was visited without an error. After the
// first error, and once ctx is done, nothing new starts; what runs already
// runs to its own end, with the ctx that was given. Walk returns when all of
// it has ended, with what became of each vertex. The visit is told after which
// vertex, the last that it depends on, it starts; -1 if it depends on none.
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

// noVertex is no vertex.
const noVertex = -1

type result struct {
	vertex int
	err    error
}

// walker is the state of one walk; only the goroutine that called Walk uses it.
type walker struct {
	outcomes   []Outcome
	pending    []int // how many dependencies each vertex still waits for
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

// handleResult notes what became of a vertex and starts what waited for it alone.
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
