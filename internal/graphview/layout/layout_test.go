// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package layout_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/ordered-helm/helm/internal/graphview/layout"
)

// random returns boxes of random sizes, and edges from boxes with lower to boxes with higher
// indexes, in random order and some of them twice.
func random(r *rand.Rand, n int) ([]layout.Size, []layout.Edge) {
	boxes := make([]layout.Size, n)
	for i := range boxes {
		boxes[i] = layout.Size{W: 20 + 300*r.Float64(), H: 20 + 200*r.Float64()}
	}
	names := r.Perm(n)
	var edges []layout.Edge
	for to := 1; to < n; to++ {
		for range r.IntN(4) {
			edges = append(edges, layout.Edge{From: names[r.IntN(to)], To: names[to]})
		}
	}
	return boxes, edges
}

func TestCompute(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		boxes, edges := random(r, 1+r.IntN(60))
		l := layout.Compute(boxes, edges)
		if again := layout.Compute(boxes, edges); !reflect.DeepEqual(l, again) {
			t.Fatalf("seed %d: laid out in two ways", seed)
		}
		checkBoxes(t, seed, boxes, l)
		for i, e := range edges {
			checkRoute(t, seed, boxes, l, e, l.Routes[i])
		}
	}
}

// checkBoxes checks that all boxes are inside the layout and do not overlap.
func checkBoxes(t *testing.T, seed uint64, boxes []layout.Size, l *layout.Layout) {
	t.Helper()
	const slack = 1e-6
	for i, a := range l.Boxes {
		if a.X < -slack || a.Y < -slack || a.X+boxes[i].W > l.Size.W+slack || a.Y+boxes[i].H > l.Size.H+slack {
			t.Fatalf("seed %d: box %d is outside: %v of %v", seed, i, a, l.Size)
		}
		for j, b := range l.Boxes[:i] {
			if a.X < b.X+boxes[j].W-slack && b.X < a.X+boxes[i].W-slack && a.Y < b.Y+boxes[j].H-slack && b.Y < a.Y+boxes[i].H-slack {
				t.Fatalf("seed %d: boxes %d and %d overlap", seed, i, j)
			}
		}
	}
}

// checkRoute checks that an edge leads from box to box and does not cross any other box.
func checkRoute(t *testing.T, seed uint64, boxes []layout.Size, l *layout.Layout, e layout.Edge, route []layout.Point) {
	t.Helper()
	const slack = 1e-6
	from, to := l.Boxes[e.From], l.Boxes[e.To]
	first, last := route[0], route[len(route)-1]
	near := func(a, b float64) bool { return a-b < slack && b-a < slack }
	if !near(first.X, from.X+boxes[e.From].W) || !near(first.Y, from.Y+boxes[e.From].H/2) || !near(last.X, to.X) || !near(last.Y, to.Y+boxes[e.To].H/2) {
		t.Fatalf("seed %d: the edge %v leads from %v to %v", seed, e, first, last)
	}
	for i := 1; i < len(route); i++ {
		a, b := route[i-1], route[i]
		if b.X < a.X-slack || i%2 == 1 && !near(a.Y, b.Y) {
			t.Fatalf("seed %d: the edge %v goes from %v to %v", seed, e, a, b)
		}
		for j, box := range l.Boxes {
			level := i%2 == 1 && a.Y > box.Y+slack && a.Y < box.Y+boxes[j].H-slack
			across := i%2 == 0
			if (level || across) && a.X < box.X+boxes[j].W-slack && b.X > box.X+slack && box.Y < max(a.Y, b.Y) && box.Y+boxes[j].H > min(a.Y, b.Y) {
				t.Fatalf("seed %d: the edge %v passes over box %d", seed, e, j)
			}
		}
	}
}

func TestComputeUntangles(t *testing.T) {
	box := layout.Size{W: 10, H: 10}
	// Two pairs whose edges would cross in the order of their numbers.
	l := layout.Compute([]layout.Size{box, box, box, box}, []layout.Edge{{From: 0, To: 3}, {From: 1, To: 2}})
	if (l.Boxes[0].Y < l.Boxes[1].Y) != (l.Boxes[3].Y < l.Boxes[2].Y) {
		t.Errorf("the edges cross: %v", l.Boxes)
	}
	if l.Boxes[0].Y != l.Boxes[3].Y || l.Boxes[1].Y != l.Boxes[2].Y {
		t.Errorf("the edges are not straight: %v", l.Boxes)
	}
}

func TestComputeOfLittle(t *testing.T) {
	if l := layout.Compute(nil, nil); l.Size != (layout.Size{}) {
		t.Errorf("nothing has the size %v", l.Size)
	}
	box := layout.Size{W: 30, H: 20}
	l := layout.Compute([]layout.Size{box, box}, []layout.Edge{{From: 0, To: 0}})
	if len(l.Routes[0]) != 0 {
		t.Errorf("an edge from a box to itself has the route %v", l.Routes[0])
	}
	checkBoxes(t, 0, []layout.Size{box, box}, l)
}

// TestComputeOfLongEdges uses a graph that needs more than maxLanes lanes.
func TestComputeOfLongEdges(t *testing.T) {
	const chain = 400
	var boxes []layout.Size
	var edges []layout.Edge
	for i := range chain {
		boxes = append(boxes, layout.Size{W: 50, H: 20})
		if i > 0 {
			edges = append(edges, layout.Edge{From: i - 1, To: i})
		}
		for j := i + 2; j < chain; j += 5 {
			edges = append(edges, layout.Edge{From: i, To: j})
		}
	}
	l := layout.Compute(boxes, edges)
	checkBoxes(t, 0, boxes, l)
	for i, e := range edges {
		if r := l.Routes[i]; len(r) < 3 || r[0].X >= r[len(r)-1].X {
			t.Fatalf("the edge %v has the route %v", e, r)
		}
	}
}
