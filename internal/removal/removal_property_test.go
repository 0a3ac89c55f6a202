// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package removal_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ordered-helm/helm/internal/execute"
	"github.com/ordered-helm/helm/internal/removal"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/testutil/chartgen"
)

// randomReleases is the number of random releases for which the properties are checked.
const randomReleases = 1000

// removalLog records when objects are deleted, by their index.
type removalLog struct {
	mu         sync.Mutex
	begin      time.Time
	clock      int
	start, end map[int]int // on a logical clock on which no two times are equal
	from, to   map[int]time.Duration
	groupOf    map[int]*removal.Group
	again      int
}

// remove executes the removal. Each group takes a random time, and many of the times are
// equal. The given group fails.
func (r *revisions) remove(ctx context.Context, order *removal.Order, fails *removal.Group, err error) (*removalLog, error) {
	l := &removalLog{
		begin: time.Now(), start: map[int]int{}, end: map[int]int{},
		from: map[int]time.Duration{}, to: map[int]time.Duration{}, groupOf: map[int]*removal.Group{},
	}
	rng := rand.New(rand.NewPCG(r.seed, 5))
	takes := map[*removal.Group]time.Duration{}
	for _, g := range order.Groups {
		takes[g] = time.Duration(rng.IntN(4)) * time.Second
	}
	result := order.Execute(ctx, func(_ context.Context, g, _ *removal.Group) error {
		l.note(r, g, l.start, l.from)
		time.Sleep(takes[g])
		l.note(r, g, l.end, l.to)
		if g == fails {
			return err
		}
		return nil
	})
	return l, result
}

func (l *removalLog) note(r *revisions, g *removal.Group, clock map[int]int, at map[int]time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clock++
	for _, res := range g.Resources {
		i := r.index[res.ID.Name]
		if _, twice := clock[i]; twice {
			l.again++
		}
		clock[i], at[i], l.groupOf[i] = l.clock, time.Since(l.begin), g
	}
}

func forRandomRevisions(t *testing.T, check func(t *testing.T, r *revisions, order *removal.Order)) {
	for seed := range uint64(randomReleases) {
		r := randomRevisions(t, seed)
		order := removal.OrderOf(r.plans, r.choose)
		synctest.Test(t, func(t *testing.T) { check(t, r, order) })
	}
}

// TestRemovalKeepsEveryOrder checks that each chosen object is deleted once, as soon as all
// objects that must be deleted before it no longer exist, and not earlier.
func TestRemovalKeepsEveryOrder(t *testing.T) {
	pairs, shared, ignored := 0, 0, 0
	forRandomRevisions(t, func(t *testing.T, r *revisions, order *removal.Order) {
		ignored += r.ignored
		l, err := r.remove(t.Context(), order, nil, nil)
		if err != nil || l.again > 0 {
			t.Fatalf("seed %d: %v, %d went again", r.seed, err, l.again)
		}
		for i, name := range r.names {
			if _, gone := l.end[i]; gone != r.chosen[i] {
				t.Fatalf("seed %d: %s is gone: %v, but was chosen: %v", r.seed, name, gone, r.chosen[i])
			}
			if !r.chosen[i] {
				continue
			}
			var free time.Duration
			for j := range r.names {
				if !r.order[j][i] {
					continue
				}
				pairs++
				free = max(free, l.to[j])
				if l.end[j] > l.start[i] {
					t.Fatalf("seed %d: %s went before %s was gone", r.seed, name, r.names[j])
				}
			}
			if l.from[i] != free {
				t.Fatalf("seed %d: %s went at %s, but could at %s", r.seed, name, l.from[i], free)
			}
			if len(r.plans) > 1 && r.has[0][i] && r.has[1][i] {
				shared++
			}
		}
	})
	if pairs < 10*randomReleases || shared < randomReleases || ignored < randomReleases/20 {
		t.Errorf("%d pairs were in order, %d objects in two plans and %d plans contradict: too few to tell", pairs, shared, ignored)
	}
}

// TestRemovalGroups checks which objects form a group, whether a group is awaited, and that
// groups are sorted by the order of deletion.
func TestRemovalGroups(t *testing.T) {
	forRandomRevisions(t, func(t *testing.T, r *revisions, order *removal.Order) {
		at := map[int]int{}
		byPlace := map[string]int{}
		for g, group := range order.Groups {
			awaited, place := false, ""
			for _, res := range group.Resources {
				i := r.index[res.ID.Name]
				at[i] = g
				awaited = awaited || slices.Contains(r.order[i], true)
				if p := r.placeOf(t, res.ID.Name, res, group.Node); place != "" && p != place {
					t.Fatalf("seed %d: %s is in the nodes %s, but goes with what is in %s", r.seed, res.ID, p, place)
				} else {
					place = p
				}
			}
			if _, again := byPlace[place]; again || len(group.Resources) == 0 {
				t.Fatalf("seed %d: what is in the nodes %s is in two groups, or a group is empty", r.seed, place)
			}
			byPlace[place] = g
			if awaited != group.Awaited {
				t.Fatalf("seed %d: group %d of %s: awaited %v, want %v", r.seed, g, group.Node.ID(), group.Awaited, awaited)
			}
		}
		for i := range r.order {
			for j, before := range r.order[i] {
				if before && at[i] >= at[j] {
					t.Fatalf("seed %d: %s goes before %s, but comes after it", r.seed, r.names[i], r.names[j])
				}
			}
		}
	})
}

// placeOf returns the nodes that contain an object, and checks that the group has it from
// the first plan that contains it.
func (r *revisions) placeOf(t *testing.T, name string, res *sequencer.PlannedResource, node *sequencer.Node) string {
	t.Helper()
	var nodes []string
	for _, p := range r.plans {
		in := "-"
		for _, n := range p.Nodes {
			for _, other := range n.Resources {
				if other.ID.Name != name {
					continue
				}
				if !slices.ContainsFunc(nodes, func(n string) bool { return n != "-" }) && (other != res || n != node) {
					t.Fatalf("seed %d: %s is not from the first plan that has it", r.seed, res.ID)
				}
				in = n.ID()
			}
		}
		nodes = append(nodes, in)
	}
	return strings.Join(nodes, " ")
}

// TestRemovalAfterAFailure makes a random group fail.
func TestRemovalAfterAFailure(t *testing.T) {
	failed := errors.New("failed")
	spared := 0
	forRandomRevisions(t, func(t *testing.T, r *revisions, order *removal.Order) {
		if len(order.Groups) == 0 {
			return
		}
		bad := order.Groups[int(r.seed)%len(order.Groups)]
		l, err := r.remove(t.Context(), order, bad, failed)
		var failure *execute.Error
		if !errors.As(err, &failure) || !errors.Is(err, failed) || len(failure.Failed) != 1 || failure.Failed[0].Vertex != bad.Vertex() {
			t.Fatalf("seed %d: got %v", r.seed, err)
		}
		if l.again > 0 || len(l.end) != len(l.start) {
			t.Fatalf("seed %d: %d went again, %d of %d have ended", r.seed, l.again, len(l.end), len(l.start))
		}
		for _, res := range bad.Resources {
			i := r.index[res.ID.Name]
			for j, after := range r.order[i] {
				if _, went := l.start[j]; after && went {
					t.Fatalf("seed %d: %s went, though %s was not gone", r.seed, r.names[j], res.ID)
				} else if after {
					spared++
				}
			}
		}
		r.checkNotStarted(t, order, l, failure)
	})
	if spared < randomReleases {
		t.Errorf("only %d objects were spared: too few to tell", spared)
	}
}

// checkNotStarted compares the nodes that are reported as not started with the objects that
// were not deleted.
func (r *revisions) checkNotStarted(t *testing.T, order *removal.Order, l *removalLog, failure *execute.Error) {
	t.Helper()
	var want, got []string
	for _, g := range order.Groups {
		_, went := l.start[r.index[g.Resources[0].ID.Name]]
		if id := g.Node.ID(); !went && id != failure.Failed[0].Vertex.ID() && !slices.Contains(want, id) {
			want = append(want, id)
		}
	}
	for _, n := range failure.NotStarted {
		got = append(got, n.ID())
	}
	if !slices.Equal(got, want) {
		t.Fatalf("seed %d: not started: %q, want %q", r.seed, got, want)
	}
}

// TestRemovalIsTheSameOnEveryRun builds the plans again, with resources and subcharts in
// different orders.
func TestRemovalIsTheSameOnEveryRun(t *testing.T) {
	for seed := range uint64(50) {
		r := randomRevisions(t, seed)
		rng := rand.New(rand.NewPCG(seed, 6))
		want := groupsText(removal.OrderOf(r.plans, r.choose))
		for run := range 20 {
			var plans []*sequencer.Plan
			for _, in := range r.inputs {
				chartgen.Shuffle(in, rng)
				p, err := sequencer.Build(in)
				if err != nil {
					t.Fatal(err)
				}
				plans = append(plans, p)
			}
			if got := groupsText(removal.OrderOf(plans, r.choose)); got != want {
				t.Fatalf("seed %d, run %d: got:\n%s\nwant:\n%s", seed, run, got, want)
			}
		}
	}
}

func groupsText(r *removal.Order) string {
	var b strings.Builder
	for _, g := range r.Groups {
		fmt.Fprintf(&b, "%s %v", g.Node.ID(), g.Awaited)
		for _, res := range g.Resources {
			b.WriteString(" " + res.ID.String())
		}
		b.WriteString("\n")
	}
	return b.String()
}
