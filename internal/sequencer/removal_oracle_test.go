// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ordered-helm/helm/internal/render/charttest"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// relation says of pairs of objects, by their index, whether the first must be
// gone before the second is deleted.
type relation [][]bool

func newRelation(n int) relation {
	r := make(relation, n)
	for i := range r {
		r[i] = make([]bool, n)
	}
	return r
}

// with gives the relation with the pairs of another one that keep allows, and
// with all that follows from them.
func (r relation) with(other relation, keep func(i int) bool) relation {
	sum := newRelation(len(r))
	for i := range r {
		for j := range r {
			sum[i][j] = r[i][j] || other[i][j] && keep(i) && keep(j)
		}
	}
	sum.close()
	return sum
}

// close adds all that follows.
func (r relation) close() {
	for k := range r {
		for i := range r {
			if !r[i][k] {
				continue
			}
			for j, follows := range r[k] {
				r[i][j] = r[i][j] || follows
			}
		}
	}
}

func (r relation) contradicts() bool {
	for i := range r {
		if r[i][i] {
			return true
		}
	}
	return false
}

// revisions are plans of random charts that have objects in common, some of
// which are to be deleted.
type revisions struct {
	seed    uint64
	inputs  []sequencer.Input
	plans   []*sequencer.Plan
	names   []string // of all objects
	index   map[string]int
	chosen  []bool
	has     [][]bool // for each plan, whether it has each object
	order   relation
	ignored int // how many plans contradict those before them
}

func (r *revisions) choose(res *sequencer.PlannedResource) (sequencer.ID, bool) {
	return sequencer.ID{Name: res.ID.Name}, r.chosen[r.index[res.ID.Name]]
}

// randomRevisions makes one to three plans: of one chart that changes, or of
// charts whose objects only bear the same names.
func randomRevisions(t *testing.T, seed uint64) *revisions {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 4))
	r := &revisions{seed: seed, index: map[string]int{}}
	var oracles []*charttest.ExpectedOrder
	akin := rng.IntN(2) == 0
	for i := range uint64(1 + rng.IntN(3)) {
		from := seed
		if !akin {
			from += i << 32
		}
		chart := charttest.Random(rand.New(rand.NewPCG(from, 1)))
		if i > 0 {
			change(chart, rng)
		}
		plan, err := sequencer.Build(chart.Input())
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		r.inputs, r.plans, oracles = append(r.inputs, chart.Input()), append(r.plans, plan), append(oracles, chart.ExpectedOrder())
	}
	for _, o := range oracles {
		for _, name := range o.Names {
			if _, known := r.index[name]; !known {
				r.index[name] = len(r.names)
				r.names = append(r.names, name)
			}
		}
	}
	share := rng.IntN(4)
	for range r.names {
		r.chosen = append(r.chosen, share == 0 || rng.IntN(4) < share)
	}
	r.expect(oracles)
	return r
}

// change drops some of a chart's resources, and lets others change places.
func change(c *charttest.Chart, rng *rand.Rand) {
	c.Resources = slices.DeleteFunc(c.Resources, func(*charttest.Resource) bool { return rng.IntN(4) == 0 })
	for range rng.IntN(3) {
		if n := len(c.Resources); n > 0 {
			a, b := c.Resources[rng.IntN(n)], c.Resources[rng.IntN(n)]
			a.Name, b.Name = b.Name, a.Name
		}
	}
	for _, d := range c.Dependencies {
		change(d.Chart, rng)
	}
}

// expect reads from what was declared which object must be gone before which.
func (r *revisions) expect(oracles []*charttest.ExpectedOrder) {
	r.order = newRelation(len(r.names))
	known := make([]bool, len(r.names))
	for _, o := range oracles {
		declared, has := newRelation(len(r.names)), make([]bool, len(r.names))
		for _, name := range o.Names {
			has[r.index[name]] = true
			for _, first := range o.Before(name) {
				declared[r.index[name]][r.index[first]] = true
			}
		}
		declared.close()
		next := r.order.with(declared, func(i int) bool { return r.chosen[i] })
		if next.contradicts() {
			r.ignored++
			next = r.order.with(declared, func(i int) bool { return r.chosen[i] && !known[i] })
		}
		for i := range known {
			known[i] = known[i] || has[i]
		}
		r.order = next
		r.has = append(r.has, has)
	}
}
