// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package dag

import "context"

// Outcome is what Walk returns for one vertex.
type Outcome struct {
	// Started reports whether Walk called visit for the vertex.
	Started bool
	// Err is the error that visit returned.
	Err error
}

// Walk calls visit for each vertex v of an acyclic graph in its own goroutine, as soon as
// the visits of all dependencies of v have returned without an error. The argument after is
// the dependency of v that finished last, or -1 if v has no dependencies.
//
// After the first error, or when ctx is done, Walk starts no further visits. It waits for
// the running ones and returns the outcome of each vertex.
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

// noVertex is the argument after of a vertex without dependencies.
const noVertex = -1

// result is what a visit sends to the goroutine of Walk when it returns.
type result struct {
	vertex int
	err    error
}

// walker is the state of one call of Walk. Only the goroutine that called Walk uses it.
type walker struct {
	outcomes   []Outcome
	pending    []int // per vertex, the number of dependencies that have not finished
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

// handleResult records the outcome of a vertex. Unless the walk has stopped, it starts the
// vertices whose last unfinished dependency this was.
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
