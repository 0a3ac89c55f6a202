// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package dag

import "context"

// VisitOutcome describes how Walk visited one vertex.
type VisitOutcome struct {
	// Started reports whether Walk called visit for the vertex.
	Started bool
	// Err is the error that visit returned.
	Err error
}

// Walk calls visit once for each of the first n vertices of an acyclic graph, in its own
// goroutine, as soon as the visits of all vertices that it depends on have returned
// without an error. The vertices from n on are gates: they only connect others, and Walk
// does not visit them. The argument v of visit is the vertex, and after is the vertex that
// v waited for last, directly or through gates, or -1 if v depends on no other vertex.
//
// After the first error, or when ctx is done, Walk starts no further visits. It waits for
// the running ones and returns the outcomes of the first n vertices.
func Walk(ctx context.Context, g *Graph, n int, visit func(ctx context.Context, v, after int) error) []VisitOutcome {
	gates := make([]int, g.Len()-n) // for each gate, the vertex that it waited for last
	w := walker{
		outcomes:   make([]VisitOutcome, g.Len()),
		pending:    make([]int, g.Len()),
		dependents: g.Reverse(),
		done:       make(chan visitResult),
	}
	w.start = func(v, after int) {
		w.outcomes[v].Started = true
		w.running++
		if after >= n {
			after = gates[after-n]
		}
		if v >= n {
			gates[v-n] = after
			go func() { w.done <- visitResult{v, nil} }()
			return
		}
		go func() { w.done <- visitResult{v, visit(ctx, v, after)} }()
	}
	w.run(ctx, g)
	return w.outcomes[:n]
}

// WalkValues is like Walk, for a graph whose first vertices stand for values: it passes values
// instead of vertices to visit. The argument after is nil if v depends on no other value.
func WalkValues[T any](ctx context.Context, g *Graph, values []*T, visit func(ctx context.Context, v, after *T) error) []VisitOutcome {
	return Walk(ctx, g, len(values), func(ctx context.Context, v, after int) error {
		if after < 0 {
			return visit(ctx, values[v], nil)
		}
		return visit(ctx, values[v], values[after])
	})
}

// visitResult is what the goroutine of a visit sends to the goroutine of Walk.
type visitResult struct {
	vertex int
	err    error
}

// walker is the state of one call of Walk. Only the goroutine that called Walk uses it.
type walker struct {
	outcomes   []VisitOutcome
	pending    []int // per vertex, the number of dependencies that have not finished
	dependents *Graph
	done       chan visitResult
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
			w.start(v, -1)
		}
	}
	for w.running > 0 {
		r := <-w.done
		w.running--
		w.handleResult(ctx, r)
	}
}

// handleResult records the outcome of a vertex. Unless the walk has stopped, it starts
// each vertex whose dependencies have now all finished.
func (w *walker) handleResult(ctx context.Context, r visitResult) {
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
