// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package dag

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestReduced(t *testing.T) {
	tests := []struct {
		name    string
		g, want *Graph
	}{
		{"no vertices", graph(0), graph(0)},
		{"shortcut", graph(3, [2]int{2, 0}, [2]int{2, 1}, [2]int{1, 0}), graph(3, [2]int{2, 1}, [2]int{1, 0})},
		{"edge twice", graph(2, [2]int{1, 0}, [2]int{1, 0}), graph(2, [2]int{1, 0})},
		{
			"diamond", graph(4, [2]int{3, 1}, [2]int{3, 2}, [2]int{1, 0}, [2]int{2, 0}, [2]int{3, 0}),
			graph(4, [2]int{3, 1}, [2]int{3, 2}, [2]int{1, 0}, [2]int{2, 0}),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.g.Reduced()
			for v := range tt.want.Len() {
				if !slices.Equal(got.Dependencies(v), tt.want.Dependencies(v)) {
					t.Errorf("%d depends on %v, want %v", v, got.Dependencies(v), tt.want.Dependencies(v))
				}
			}
		})
	}
}

// TestReducedReachesTheSame checks that every vertex reaches the same vertices, and that no
// remaining edge is implied by others. Some graphs have more vertices than a word has bits.
func TestReducedReachesTheSame(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 4))
		g := New(0)
		for g.Len() < 150 {
			part := randomGraph(r)
			offset := g.Len()
			for v := range part.Len() {
				g.AddVertex()
				for _, w := range part.Dependencies(v) {
					g.AddEdge(offset+v, offset+w)
				}
			}
			for range 3 {
				if offset > 0 {
					g.AddEdge(offset+r.IntN(part.Len()), r.IntN(offset))
				}
			}
		}
		reduced := g.Reduced()
		for v := range g.Len() {
			if !slices.Equal(g.Reachable(v), reduced.Reachable(v)) {
				t.Fatalf("seed %d: %d reaches something else", seed, v)
			}
			for _, w := range reduced.Dependencies(v) {
				for _, x := range reduced.Dependencies(v) {
					if x != w && reduced.Reachable(x)[w] {
						t.Fatalf("seed %d: %d→%d follows from %d→%d", seed, v, w, v, x)
					}
				}
			}
		}
	}
}
