// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

// sequence returns many requests for a namespace, some of them identical.
func sequence(namespace string) (all []Request) {
	for i := range 500 {
		for _, verb := range []string{"get", "update"} {
			name := fmt.Sprintf("pod-%d", i%10)
			all = append(all, Request{
				Verb: verb, Resource: "pods", Namespace: namespace, Name: name,
				Path: "/api/v1/namespaces/" + namespace + "/pods/" + name,
			})
		}
	}
	return all
}

// fates returns, for each request, the name of the rule that Random applies to it, or "-".
func fates(seed uint64, percent int, requests []Request, rules ...string) []string {
	met := "-"
	all := make([]Rule, 0, len(rules))
	for _, name := range rules {
		all = append(all, func(http.ResponseWriter, *http.Request, Request) bool { met = name; return true })
	}
	rule := Random(seed, percent, all...)
	got := make([]string, 0, len(requests))
	for _, what := range requests {
		met = "-"
		if answered := rule(nil, nil, what); answered != (met != "-") {
			met += " and something else"
		}
		got = append(got, met)
	}
	return got
}

func TestRandom(t *testing.T) {
	requests := sequence("shop")
	for _, tt := range []struct {
		name      string
		percent   int
		rules     []string
		low, high int // how many of 1000 requests meet each rule
	}{
		{"never", 0, []string{"a"}, 0, 0},
		{"always", 100, []string{"a"}, 1000, 1000},
		{"seldom", 10, []string{"a"}, 60, 140},
		{"one of three", 60, []string{"a", "b", "c"}, 140, 260},
		{"no rules", 100, nil, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			met := fates(7, tt.percent, requests, tt.rules...)
			for _, rule := range tt.rules {
				n := len(met) - len(slices.DeleteFunc(slices.Clone(met), func(s string) bool { return s == rule }))
				if n < tt.low || n > tt.high {
					t.Errorf("%d of 1000 requests meet %s, want %d to %d", n, rule, tt.low, tt.high)
				}
			}
		})
	}
}

func TestRandomIsReproducible(t *testing.T) {
	const percent = 30
	requests := sequence("shop")
	first := fates(7, percent, requests, "a", "b")
	if again := fates(7, percent, requests, "a", "b"); !slices.Equal(first, again) {
		t.Error("the same seed and requests meet something else")
	}
	if other := fates(7, percent, sequence("another"), "a", "b"); !slices.Equal(first, other) {
		t.Error("in another namespace the requests meet something else")
	}
	if other := fates(8, percent, requests, "a", "b"); slices.Equal(first, other) {
		t.Error("two seeds make the same trouble")
	}
	// This changes the order of requests of different kinds, but not the order within a kind.
	sorted := slices.Clone(requests)
	slices.SortStableFunc(sorted, func(a, b Request) int { return strings.Compare(b.Verb, a.Verb) })
	var gets, reordered []string
	for i, met := range first {
		if requests[i].Verb == "get" {
			gets = append(gets, met)
		}
	}
	for i, met := range fates(7, percent, sorted, "a", "b") {
		if sorted[i].Verb == "get" {
			reordered = append(reordered, met)
		}
	}
	if !slices.Equal(gets, reordered) {
		t.Error("reads meet something else when they come after the updates")
	}
}

func TestRandomWithConcurrentRequests(t *testing.T) {
	const asking, percent = 400, 25
	count := func() (n int) {
		met := make(chan struct{}, asking)
		rule := Random(3, percent, func(http.ResponseWriter, *http.Request, Request) bool { met <- struct{}{}; return true })
		var wg sync.WaitGroup
		for range asking {
			wg.Go(func() { rule(nil, nil, Request{Verb: "get", Resource: "pods"}) })
		}
		wg.Wait()
		return len(met)
	}
	if first, again := count(), count(); first != again || first == 0 {
		t.Errorf("%d and %d of the same requests meet trouble", first, again)
	}
}

func TestChance(t *testing.T) {
	one, again := Chance(5, 20), Chance(5, 20)
	n := 0
	for i, what := range sequence("shop") {
		yes := one(what)
		if yes != again(what) {
			t.Fatalf("request %d is chosen by one and not by the other", i)
		}
		if yes {
			n++
		}
	}
	if n < 150 || n > 250 {
		t.Errorf("chose %d of 1000, want about 200", n)
	}
}

// TestRandomWithOnly checks that Random ignores requests that Only excludes.
func TestRandomWithOnly(t *testing.T) {
	requests := sequence("shop")
	met := 0
	rule := Only(Writes, Random(7, 30, func(http.ResponseWriter, *http.Request, Request) bool { met++; return true }))
	for _, what := range requests {
		if rule(nil, nil, what) && what.Verb != "update" {
			t.Fatalf("%+v met trouble", what)
		}
	}
	if met == 0 {
		t.Error("no request met trouble")
	}
}
