// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package dag

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func graph(n int, edges ...[2]int) *Graph {
	g := New(n)
	for _, e := range edges {
		g.AddEdge(e[0], e[1])
	}
	return g
}

func TestCycle(t *testing.T) {
	tests := []struct {
		name string
		g    *Graph
		want []int
	}{
		{"no vertices", graph(0), nil},
		{"no edges", graph(3), nil},
		{"diamond", graph(4, [2]int{3, 1}, [2]int{3, 2}, [2]int{1, 0}, [2]int{2, 0}), nil},
		{"itself", graph(2, [2]int{1, 1}), []int{1}},
		{"two", graph(3, [2]int{2, 1}, [2]int{1, 2}), []int{1, 2}},
		{"behind a tail", graph(5, [2]int{0, 4}, [2]int{4, 2}, [2]int{2, 3}, [2]int{3, 4}), []int{2, 3, 4}},
		{"edge twice is no cycle", graph(2, [2]int{1, 0}, [2]int{1, 0}), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.g.Cycle(); !slices.Equal(got, tt.want) {
				t.Errorf("Cycle() = %v, want %v", got, tt.want)
			}
		})
	}
}

// randomGraph returns an acyclic graph whose vertex numbers do not reveal its order.
func randomGraph(r *rand.Rand) *Graph {
	n := 1 + r.IntN(40)
	names := r.Perm(n)
	g := New(n)
	for v := range n {
		for w := range v {
			if r.IntN(6) == 0 {
				g.AddEdge(names[v], names[w])
			}
		}
	}
	return g
}

func TestDepthsExceedThoseOfDependencies(t *testing.T) {
	for seed := range uint64(200) {
		g := randomGraph(rand.New(rand.NewPCG(seed, 1)))
		counted := int(seed) % (g.Len() + 1)
		depths := g.Depths(counted)
		for v := range g.Len() {
			want := 0
			for _, w := range g.Dependencies(v) {
				if w < counted {
					want = max(want, depths[w]+1)
				} else {
					want = max(want, depths[w])
				}
			}
			if depths[v] != want {
				t.Fatalf("seed %d: depth of %d is %d, want %d", seed, v, depths[v], want)
			}
		}
	}
}

func TestCycleIsOneOfTheGraph(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		g := randomGraph(r)
		if c := g.Cycle(); c != nil {
			t.Fatalf("seed %d: cycle %v in an acyclic graph", seed, c)
		}
		descendants := make([][]bool, g.Len())
		for v := range g.Len() {
			descendants[v] = g.Reachable(v)
		}
		v, w := r.IntN(g.Len()), r.IntN(g.Len())
		g.AddEdge(v, w)
		c := g.Cycle()
		if wantCycle := v == w || descendants[w][v]; wantCycle != (c != nil) {
			t.Fatalf("seed %d: edge %d→%d: cycle %v, want one: %v", seed, v, w, c, wantCycle)
		}
		for i, x := range c {
			if !slices.Contains(g.Dependencies(x), c[(i+1)%len(c)]) {
				t.Fatalf("seed %d: %v is no cycle of the graph", seed, c)
			}
		}
	}
}

func TestWalkRespectsEveryEdge(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		g := randomGraph(r)
		failing := -1
		if r.IntN(2) == 0 {
			failing = r.IntN(g.Len())
		}
		var mu sync.Mutex
		ended := make([]bool, g.Len())
		visits := make([]int, g.Len())
		failed := errors.New("failed")
		outcomes := Walk(t.Context(), g, g.Len(), func(_ context.Context, v, after int) error {
			mu.Lock()
			defer mu.Unlock()
			visits[v]++
			if deps := g.Dependencies(v); (after < 0) != (len(deps) == 0) || after >= 0 && !slices.Contains(deps, after) {
				t.Errorf("seed %d: %d is said to start after %d, and depends on %v", seed, v, after, deps)
			}
			for _, w := range g.Dependencies(v) {
				if !ended[w] {
					t.Errorf("seed %d: %d started before %d had ended", seed, v, w)
				}
			}
			if v == failing {
				return failed
			}
			ended[v] = true
			return nil
		})
		for v, o := range outcomes {
			if o.Started != (visits[v] == 1) || visits[v] > 1 {
				t.Fatalf("seed %d: %d visited %d times, started %v", seed, v, visits[v], o.Started)
			}
			if (v == failing && o.Started) != (o.Err != nil) {
				t.Fatalf("seed %d: error of %d: %v", seed, v, o.Err)
			}
			if failing < 0 && !o.Started {
				t.Fatalf("seed %d: %d left out", seed, v)
			}
		}
	}
}

func TestWalkDoesNotHoldUpIndependentVertices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// 0 is slow, and 1 ← 2 ← 3 is an independent fast chain.
		g := graph(4, [2]int{2, 1}, [2]int{3, 2})
		begin := time.Now()
		ended := make([]time.Duration, 4)
		Walk(t.Context(), g, g.Len(), func(_ context.Context, v, _ int) error {
			d := time.Second
			if v == 0 {
				d = time.Hour
			}
			time.Sleep(d)
			ended[v] = time.Since(begin)
			return nil
		})
		want := []time.Duration{time.Hour, time.Second, 2 * time.Second, 3 * time.Second}
		if !slices.Equal(ended, want) {
			t.Errorf("ended at %v, want %v", ended, want)
		}
	})
}

func TestWalkAfterAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// 0 fails after 1 s; 1 runs for 3 s; 2 waits for 1 and must not start.
		g := graph(3, [2]int{2, 1})
		begin := time.Now()
		failed := errors.New("failed")
		outcomes := Walk(t.Context(), g, g.Len(), func(_ context.Context, v, _ int) error {
			if v == 0 {
				time.Sleep(time.Second)
				return failed
			}
			time.Sleep(3 * time.Second)
			return nil
		})
		if d := time.Since(begin); d != 3*time.Second {
			t.Errorf("returned after %s: what ran must run to its end, 3s", d)
		}
		want := []VisitOutcome{{true, failed}, {true, nil}, {}}
		if !slices.Equal(outcomes, want) {
			t.Errorf("outcomes %v, want %v", outcomes, want)
		}
	})
}

func TestWalkCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	g := graph(3, [2]int{1, 0}, [2]int{2, 1})
	outcomes := Walk(ctx, g, g.Len(), func(ctx context.Context, v, _ int) error {
		if v == 1 {
			cancel()
			return ctx.Err()
		}
		return nil
	})
	want := []VisitOutcome{{true, nil}, {true, context.Canceled}, {}}
	if !slices.Equal(outcomes, want) {
		t.Errorf("outcomes %v, want %v", outcomes, want)
	}
}

// TestGates checks the methods that distinguish the first vertices of a graph from gates.
func TestGates(t *testing.T) {
	// 2 waits for 0 and 1 at the gates 3 and 4.
	g := graph(5, [2]int{2, 4}, [2]int{4, 3}, [2]int{3, 0}, [2]int{3, 1}, [2]int{1, 0})
	if deps := g.DependenciesAmong(3, 2); !slices.Equal(deps, []int{0, 1}) {
		t.Errorf("2 depends on %v, want 0 and 1", deps)
	}
	var visited []string
	outcomes := Walk(t.Context(), g, 3, func(_ context.Context, v, after int) error {
		visited = append(visited, fmt.Sprintf("%d after %d", v, after))
		return nil
	})
	if want := []string{"0 after -1", "1 after 0", "2 after 1"}; !slices.Equal(visited, want) || len(outcomes) != 3 {
		t.Errorf("visited %v with %d outcomes, want %v", visited, len(outcomes), want)
	}
	if !g.Reachability().DependsOn(2, 0) || g.Reachability().DependsOn(0, 2) {
		t.Error("only 2 depends on 0")
	}
	r := g.Without(func(v, _ int) bool { return v == 4 }).Renumbered([]int{1, 0, 2, 3, 4})
	for v, want := range [][]int{{1}, nil, {4}, {0, 1}, nil} {
		if deps := r.Dependencies(v); !slices.Equal(deps, want) {
			t.Errorf("without edges from 4, and with 0 and 1 swapped, %d depends on %v, want %v", v, deps, want)
		}
	}
}
