// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer_test

import (
	"math/rand/v2"
	"testing"

	"github.com/ordered-helm/helm/internal/sequencer"
)

// TestPart checks that a part of the plan of a random chart has the chosen resources, and the
// same order among them as the whole plan.
func TestPart(t *testing.T) {
	forRandomCharts(t, func(t *testing.T, d *deployment, r *rand.Rand) {
		chosen := map[*sequencer.PlannedResource]bool{}
		share := r.IntN(4)
		part := d.plan.Part(func(res *sequencer.PlannedResource) bool {
			chosen[res] = r.IntN(4) < share
			return chosen[res]
		})
		index := map[string]int{} // of the nodes in the part, by ID
		for i, n := range part.Nodes {
			index[n.ID()] = i
		}
		whole := map[int]int{} // from nodes in the part to nodes in the whole plan
		for i, n := range d.plan.Nodes {
			at, kept := index[n.ID()]
			for _, res := range n.Resources {
				if chosen[res] && !kept {
					t.Fatalf("seed %d: the part lacks %s", d.seed, res.ID)
				}
			}
			if kept {
				whole[at] = i
			}
		}
		awaited := map[int]bool{}
		for i, n := range part.Nodes {
			for _, res := range n.Resources {
				if !chosen[res] {
					t.Errorf("seed %d: the part has %s", d.seed, res.ID)
				}
				delete(chosen, res)
			}
			for j := range part.Nodes {
				if got, want := part.ComesAfter(i, j), d.plan.ComesAfter(whole[i], whole[j]); got != want {
					t.Errorf("seed %d: %s after %s: %v, want %v", d.seed, n.ID(), part.Nodes[j].ID(), got, want)
				}
				awaited[j] = awaited[j] || part.ComesAfter(i, j)
			}
		}
		for i, n := range part.Nodes {
			if n.Awaited != awaited[i] {
				t.Errorf("seed %d: %s is awaited: %v, want %v", d.seed, n.ID(), n.Awaited, awaited[i])
			}
		}
		for res, left := range chosen {
			if left {
				t.Errorf("seed %d: the part lacks %s", d.seed, res.ID)
			}
		}
	})
}
