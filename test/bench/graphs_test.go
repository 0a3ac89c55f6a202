// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"reflect"
	"slices"
	"testing"
)

// TestGraphsAreTraversedInOrder checks that walk returns each node once, after its
// dependencies.
func TestGraphsAreTraversedInOrder(t *testing.T) {
	for what, g := range map[string]graph{"chain": chain(10), "fan-out": fanOut(5), "random": random(30), "levels": random(30).levels()} {
		w := g.begin()
		var order []string
		for ready := w.first(); len(ready) > 0; ready = ready[1:] {
			n := ready[0]
			for _, need := range n.needs {
				if !slices.Contains(order, need) {
					t.Errorf("%s: %s starts before %s", what, n.name, need)
				}
			}
			order = append(order, n.name)
			ready = append(ready, w.done(n.name)...)
			if again := w.done(n.name); again != nil {
				t.Errorf("%s: what is done twice starts %v", what, again)
			}
		}
		if len(order) != len(g) || w.left != 0 {
			t.Errorf("%s: %d of %d are done, %d left", what, len(order), len(g), w.left)
		}
	}
}

func TestLevelsAreBarriers(t *testing.T) {
	g := graph{{name: "a"}, {name: "b"}, {name: "c", needs: []string{"a"}}, {name: "d", needs: []string{"c"}}, {name: "e", needs: []string{"b"}}}
	want := [][]string{nil, nil, {"a", "b"}, {"c", "e"}, {"a", "b"}}
	for i, n := range g.levels() {
		if !slices.Equal(n.needs, want[i]) {
			t.Errorf("%s needs %q, want %q", n.name, n.needs, want[i])
		}
	}
	if g[2].needs[0] != "a" || len(g[2].needs) != 1 {
		t.Error("levels changes the graph itself")
	}
}

func TestRandomGraphIsDeterministic(t *testing.T) {
	if !reflect.DeepEqual(random(30), random(30)) {
		t.Error("two graphs differ")
	}
}
