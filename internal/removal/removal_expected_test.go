// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package removal_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/testutil/chartgen"
)

// relation contains, for each pair of objects by index, whether the first must no longer
// exist before the second is deleted.
type relation [][]bool

func newRelation(n int) relation {
	r := make(relation, n)
	for i := range r {
		r[i] = make([]bool, n)
	}
	return r
}

// with adds the pairs of another relation for which keep returns true for both objects, and
// returns the transitive closure.
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

// close adds the pairs of the transitive closure.
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

// revisions are plans of random charts that have objects in common. Some of the objects are
// to be deleted.
type revisions struct {
	seed    uint64
	inputs  []sequencer.Input
	plans   []*sequencer.Plan
	names   []string // the names of all objects
	index   map[string]int
	chosen  []bool
	has     [][]bool // for each plan, whether it has each object
	order   relation
	ignored int // the number of plans that contradict earlier plans
}

func (r *revisions) choose(res *sequencer.PlannedResource) (sequencer.ID, bool) {
	return sequencer.ID{Name: res.ID.Name}, r.chosen[r.index[res.ID.Name]]
}

// randomRevisions returns one to three plans. They are either for one chart that changes,
// or for different charts whose objects only have the same names.
func randomRevisions(t *testing.T, seed uint64) *revisions {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 4))
	r := &revisions{seed: seed, index: map[string]int{}}
	var expected []*chartgen.ExpectedOrder
	akin := rng.IntN(2) == 0
	for i := range uint64(1 + rng.IntN(3)) {
		from := seed
		if !akin {
			from += i << 32
		}
		chart := chartgen.Random(rand.New(rand.NewPCG(from, 1)))
		if i > 0 {
			change(chart, rng)
		}
		plan, err := sequencer.Build(chart.Input())
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		r.inputs, r.plans, expected = append(r.inputs, chart.Input()), append(r.plans, plan), append(expected, chart.ExpectedOrder())
	}
	for _, o := range expected {
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
	r.expect(expected)
	return r
}

// change removes some of a chart's resources, and exchanges the names of others.
func change(c *chartgen.Chart, rng *rand.Rand) {
	c.Resources = slices.DeleteFunc(c.Resources, func(*chartgen.Resource) bool { return rng.IntN(4) == 0 })
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

// expect determines from the declarations which object must no longer exist before which
// other object is deleted.
func (r *revisions) expect(expected []*chartgen.ExpectedOrder) {
	r.order = newRelation(len(r.names))
	known := make([]bool, len(r.names))
	for _, o := range expected {
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
