// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookorder_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"

	"github.com/ordered-helm/helm/internal/hookorder"
)

// given has hooks, and their properties as the test generated them, independent of the
// tested package.
type given struct {
	hooks      []*release.Hook // in input order; a hook that runs twice is listed twice
	namespaces map[*release.Hook]string
	charts     map[*release.Hook]string
	modes      map[string]hookorder.Mode
}

var (
	anyKinds      = []string{"Job", "Job", "Job", "Pod", "Secret", "ConfigMap", "ServiceAccount", "Widget", "Apple"}
	anyNamespaces = []string{"", "", "", "shop", "other"}
	anyModes      = []hookorder.Mode{hookorder.Parallel, hookorder.Parallel, hookorder.OtherChartsOnly, hookorder.OtherChartsOnly, hookorder.Sequential, ""}
)

// pick returns a number from 0 to n-1.
type pick func(n int) int

// makeHooks generates hooks from the numbers that next returns. It uses few names, kinds,
// weights and charts, so that many hooks have the same ones.
func makeHooks(count int, next pick) *given {
	g := &given{namespaces: map[*release.Hook]string{}, charts: map[*release.Hook]string{}, modes: map[string]hookorder.Mode{}}
	charts := 1 + next(4)
	for i := range charts {
		if mode := anyModes[next(len(anyModes))]; mode != "" {
			g.modes[fmt.Sprintf("c%d", i)] = mode
		}
	}
	for range count {
		if len(g.hooks) > 0 && next(8) == 0 {
			g.hooks = append(g.hooks, g.hooks[next(len(g.hooks))])
			continue
		}
		h := &release.Hook{Name: string(rune('a' + next(6))), Kind: anyKinds[next(len(anyKinds))], Weight: next(3) - 1}
		chart, namespace := fmt.Sprintf("c%d", next(charts)), anyNamespaces[next(len(anyNamespaces))]
		h.Path = chart + "/templates/x.yaml"
		if namespace != "" {
			h.Manifest = "metadata: {namespace: " + namespace + "}"
		} else {
			namespace = "shop"
		}
		g.charts[h], g.namespaces[h] = chart, namespace
		g.hooks = append(g.hooks, h)
	}
	return g
}

func (g *given) asModes() hookorder.ChartModes {
	return hookorder.ChartModes{Namespace: "shop", ChartOf: func(h *release.Hook) string { return g.charts[h] }, ByChart: g.modes}
}

func (g *given) String() string {
	text := fmt.Sprint(g.modes)
	for _, h := range g.hooks {
		text += fmt.Sprintf("\n%s %s/%s %d in %s", g.charts[h], h.Kind, h.Name, h.Weight, g.namespaces[h])
	}
	return text
}

// inHelmsOrder sorts by weight, then by name.
func (g *given) inHelmsOrder() []*release.Hook {
	sorted := slices.Clone(g.hooks)
	sort.SliceStable(sorted, func(i, j int) bool {
		if sorted[i].Weight != sorted[j].Weight {
			return sorted[i].Weight < sorted[j].Weight
		}
		return sorted[i].Name < sorted[j].Name
	})
	return sorted
}

// part says in which part of its bucket a hook runs: first the kinds that Helm does not
// wait for, then the hooks that run in parallel, then the hooks in Helm's order.
func (g *given) part(h *release.Hook) (part int, kind string) {
	switch mode := g.modes[g.charts[h]]; {
	case mode == hookorder.Parallel && h.Kind != "Job" && h.Kind != "Pod":
		if i := slices.Index(releaseutil.InstallOrder, h.Kind); i >= 0 {
			return i, ""
		}
		return 1000, h.Kind
	case mode == hookorder.Parallel, mode == hookorder.OtherChartsOnly:
		return 2000, ""
	}
	return 3000, ""
}

// bound reports whether two hooks of the same part must run one after the other, because
// they are the same object or their chart has the mode otherChartsOnly.
func (g *given) bound(a, b *release.Hook) bool {
	sameObject := a.Kind == b.Kind && a.Name == b.Name && g.namespaces[a] == g.namespaces[b]
	sameChain := g.charts[a] == g.charts[b] && g.modes[g.charts[a]] == hookorder.OtherChartsOnly
	return sameObject || sameChain
}

// inHelmsWay is the last part of a bucket, with the hooks in Helm's order.
const inHelmsWay = "3000"

const (
	before = -1
	beside = 0
	after  = 1
)

// expectedOrder returns, for each two indexes in Helm's order, whether the first hook must run
// before, in parallel with, or after the second.
func (g *given) expectedOrder() [][]int {
	hooks := g.inHelmsOrder()
	n := len(hooks)
	parts := make([][]string, n)
	for i, h := range hooks {
		parts[i] = partOf(g, h)
	}
	group := make([]int, n) // by index of a hook; hooks bound to a common hook are in the same group
	for i := range group {
		group[i] = i
	}
	for changed := true; changed; {
		changed = false
		for i, a := range hooks {
			for j, b := range hooks {
				isBound := a.Weight == b.Weight && slices.Equal(parts[i], parts[j]) && (parts[i][0] == inHelmsWay || g.bound(a, b))
				if isBound && group[i] > group[j] {
					group[i], changed = group[j], true
				}
			}
		}
	}
	want := make([][]int, n)
	for i, a := range hooks {
		want[i] = make([]int, n)
		for j, b := range hooks {
			switch {
			case a.Weight != b.Weight:
				want[i][j] = sign(a.Weight < b.Weight)
			case !slices.Equal(parts[i], parts[j]):
				want[i][j] = sign(slices.Compare(parts[i], parts[j]) < 0)
			case group[i] == group[j] && i != j:
				want[i][j] = sign(i < j)
			}
		}
	}
	return want
}

func partOf(g *given, h *release.Hook) []string {
	part, kind := g.part(h)
	return []string{fmt.Sprintf("%04d", part), kind}
}

func sign(isBefore bool) int {
	if isBefore {
		return before
	}
	return after
}

// place is the position of a hook in buckets.
type place struct{ bucket, stage, chain, at int }

func (p place) relation(o place) int {
	switch {
	case p.bucket != o.bucket:
		return sign(p.bucket < o.bucket)
	case p.stage != o.stage:
		return sign(p.stage < o.stage)
	case p.chain != o.chain, p == o:
		return beside
	}
	return sign(p.at < o.at)
}

// check compares buckets with the expected order.
func (g *given) check(t *testing.T, buckets []hookorder.Bucket) {
	t.Helper()
	places := map[*release.Hook][]place{}
	count := 0
	for b, bucket := range buckets {
		for s, stage := range bucket.Stages {
			for c, chain := range stage.Chains {
				if len(chain) == 0 {
					t.Fatalf("an empty chain\n%s", g)
				}
				for at, h := range chain {
					places[h] = append(places[h], place{b, s, c, at})
					count++
					if h.Weight != bucket.Weight {
						t.Fatalf("%s is in the bucket of weight %d\n%s", h.Name, bucket.Weight, g)
					}
				}
			}
		}
	}
	if count != len(g.hooks) {
		t.Fatalf("%d hooks run, of %d\n%s", count, len(g.hooks), g)
	}
	sorted := g.inHelmsOrder()
	at := make([]place, len(sorted)) // a hook that runs twice takes its places in order
	for i, h := range sorted {
		if len(places[h]) == 0 {
			t.Fatalf("%s is left out\n%s", h.Name, g)
		}
		at[i], places[h] = places[h][0], places[h][1:]
	}
	for i, row := range g.expectedOrder() {
		for j, want := range row {
			if got := at[i].relation(at[j]); got != want {
				t.Fatalf("%s and %s: %d, want %d, in\n%s\n%s", hookorder.Title(sorted[i]), hookorder.Title(sorted[j]), got, want, printed(buckets), g)
			}
		}
	}
	parallel := slices.ContainsFunc(sorted, func(h *release.Hook) bool { return g.modes[g.charts[h]].IsParallel() })
	if hookorder.IsHelmOrder(buckets) == parallel {
		t.Fatalf("in Helm's order: %v\n%s", !parallel, g)
	}
}

func TestBucketsOfRandomHooks(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 5))
		g := makeHooks(r.IntN(14), r.IntN)
		g.check(t, hookorder.Buckets(g.hooks, g.asModes()))
	}
}

// TestBucketsInHelmsOrder checks that hooks are in Helm's order if no chart has another
// mode.
func TestBucketsInHelmsOrder(t *testing.T) {
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 6))
		g := makeHooks(r.IntN(30), r.IntN)
		for chart := range g.modes {
			g.modes[chart] = hookorder.Sequential
		}
		if seed%2 == 0 {
			g.modes = nil
		}
		var got []*release.Hook
		for _, b := range hookorder.Buckets(g.hooks, g.asModes()) {
			got = append(got, b.Hooks()...)
		}
		if !slices.Equal(got, g.inHelmsOrder()) {
			t.Fatalf("got %s\nwant %s", titles(got), titles(g.inHelmsOrder()))
		}
	}
}

// TestBucketsOfHooksInAnyOrder checks that the buckets do not depend on the order of the
// input, unless hooks are equal in weight and name.
func TestBucketsOfHooksInAnyOrder(t *testing.T) {
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 7))
		g := makeHooks(r.IntN(14), r.IntN)
		known := map[string]*release.Hook{}
		g.hooks = slices.DeleteFunc(g.hooks, func(h *release.Hook) bool {
			key := fmt.Sprint(h.Weight, h.Name)
			if known[key] == nil {
				known[key] = h
			}
			return known[key] != h
		})
		want := hookorder.Buckets(g.hooks, g.asModes())
		for range 3 {
			r.Shuffle(len(g.hooks), func(i, j int) { g.hooks[i], g.hooks[j] = g.hooks[j], g.hooks[i] })
			got := hookorder.Buckets(g.hooks, g.asModes())
			g.check(t, got)
			if printed(got) != printed(want) {
				t.Fatalf("got\n%s\nwant\n%s", printed(got), printed(want))
			}
		}
	}
}

// FuzzBuckets generates hooks from the fuzzed bytes.
func FuzzBuckets(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{3, 0, 2, 1, 1, 0, 4, 1, 0, 0, 1, 2, 0, 0})
	f.Add([]byte("two charts of one mind, and a third one"))
	f.Fuzz(func(t *testing.T, data []byte) {
		count := min(len(data)/4, 20)
		g := makeHooks(count, func(n int) int {
			if len(data) == 0 {
				return 0
			}
			choice := int(data[0]) % n
			data = data[1:]
			return choice
		})
		g.check(t, hookorder.Buckets(g.hooks, g.asModes()))
	})
}
