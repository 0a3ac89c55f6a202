// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ordered-helm/helm/test/fault"
)

// TestHookBuckets is what comes after what in and between the buckets of an event.
func TestHookBuckets(t *testing.T) {
	t.Parallel()
	const isTrue, others = "runHooksInParallel: true\n", "runHooksInParallel: otherChartsOnly\n"
	pod := func(name string, weight int) hookSpec { return hookSpec{name: name, weight: weight} }
	for _, tt := range []struct {
		name string
		subs []hookedChart
		plan string
	}{
		{
			// The names contradict the kinds: those that come last by name come first.
			name: "kinds that are not waited for, in Helm's order of kinds, then Jobs and Pods, then what is by name",
			subs: []hookedChart{
				{name: "one", more: isTrue, hooks: []hookSpec{
					{kind: "Job", name: "a-job"}, {kind: "Pod", name: "b-pod"}, {kind: "Ingress", name: "c"}, {kind: "Deployment", name: "d"},
					{kind: "Service", name: "e"}, {kind: "RoleBinding", name: "f"}, {kind: "Role", name: "g"}, {kind: "PersistentVolumeClaim", name: "h"},
				}},
				{name: "three", more: isTrue, hooks: []hookSpec{
					{kind: "ConfigMap", name: "i"}, {kind: "Secret", name: "j"}, {kind: "ServiceAccount", name: "k"}, {kind: "PodDisruptionBudget", name: "l"},
					{kind: "NetworkPolicy", name: "m"}, {kind: "Job", name: "n-job"}, {kind: "ServiceAccount", name: "o"}, {kind: "ConfigMap", name: "p"},
				}},
				{name: "chain", more: others, hooks: []hookSpec{
					{name: "z"}, {kind: "ConfigMap", name: "y"}, {name: "x"}, {kind: "ServiceAccount", name: "w"},
				}},
				{name: "two", hooks: []hookSpec{
					{name: "s"}, {kind: "Secret", name: "t"}, {kind: "Job", name: "u"}, {kind: "ServiceAccount", name: "v"},
				}},
			},
			plan: "~m > ~l > ~k | ~o > ~j > ~i | ~p > ~h > ~g > ~f > ~e > ~d > ~c > a-job | b-pod | n-job | ~w x ~y z > s > ~t > u > ~v",
		},
		{
			name: "weights are numbers, the lowest first, over all charts",
			subs: []hookedChart{
				{name: "one", more: isTrue, hooks: []hookSpec{pod("a", 10), pod("b", -5), pod("c", -5), pod("d", 9)}},
				{name: "two", hooks: []hookSpec{pod("e", -5), pod("f", 9), pod("g", -10)}},
				{name: "chain", more: others, hooks: []hookSpec{pod("h", 9), pod("i", -5), pod("j", 9), pod("k", 10)}},
			},
			plan: "g > b | c | i > e > d | h j > f > a | k",
		},
		{
			name: "what is not waited for holds up nothing of a lower weight, and a bucket may hold nothing else",
			subs: []hookedChart{
				{name: "one", more: isTrue, hooks: []hookSpec{{kind: "ConfigMap", name: "a", weight: 1}, {kind: "ServiceAccount", name: "b", weight: 1}, pod("c", 0), pod("d", 2)}},
				{name: "two", hooks: []hookSpec{{kind: "ConfigMap", name: "e", weight: 1}}},
			},
			plan: "c > ~b > ~a > ~e > d",
		},
		{
			name: "chains go on by themselves",
			subs: []hookedChart{
				{name: "one", more: others, hooks: []hookSpec{pod("a1", 0), pod("a2", 0), pod("a3", 0)}},
				{name: "two", more: others, hooks: []hookSpec{pod("b3", 0), pod("b2", 0), pod("b1", 0)}},
				{name: "three", more: others, hooks: []hookSpec{pod("c1", 0), {kind: "Job", name: "c2"}}},
				{name: "four", more: isTrue, hooks: []hookSpec{pod("d", 0)}},
			},
			plan: "a1 a2 a3 | b1 b2 b3 | c1 c2 | d",
		},
		{
			name: "one object in two charts: one after the other",
			subs: []hookedChart{
				{name: "one", more: isTrue, hooks: []hookSpec{{name: "same", id: "first"}, {kind: "Job", name: "same"}, pod("a", 0)}},
				{name: "two", more: isTrue, hooks: []hookSpec{{name: "same", id: "second", where: "{{ .Release.Namespace }}"}, pod("b", 0)}},
			},
			plan: "first second | same | a | b",
		},
		{
			name: "one object in a chain and elsewhere: with all of the chain, by name",
			subs: []hookedChart{
				{name: "one", more: isTrue, hooks: []hookSpec{{kind: "Job", name: "m", id: "m1"}, pod("x", 0), {name: "q", id: "q1"}}},
				{name: "two", more: others, hooks: []hookSpec{pod("k", 0), {kind: "Job", name: "m", id: "m2"}, pod("z", 0)}},
				{name: "three", more: isTrue, hooks: []hookSpec{{name: "q", id: "q2"}, pod("y", 0)}},
				{name: "z-last", hooks: []hookSpec{{kind: "Job", name: "m", id: "m3"}}},
			},
			plan: "k m1 m2 z | q1 q2 | x | y > m3",
		},
		{
			name: "one object in two chains joins them, and a third by another",
			subs: []hookedChart{
				{name: "one", more: others, hooks: []hookSpec{pod("a", 0), {name: "m", id: "m1"}}},
				{name: "three", more: others, hooks: []hookSpec{{name: "n", id: "n1"}, pod("z", 0)}},
				{name: "two", more: others, hooks: []hookSpec{pod("b", 0), {name: "m", id: "m2"}, {name: "n", id: "n2"}}},
				{name: "with", more: others, hooks: []hookSpec{pod("c", 0), pod("d", 0)}},
			},
			plan: "a b m1 m2 n1 n2 z | c d",
		},
		{
			name: "one object that is not waited for",
			subs: []hookedChart{
				{name: "one", more: isTrue, hooks: []hookSpec{{kind: "ConfigMap", name: "same", id: "first"}, pod("a", 0)}},
				{name: "two", more: isTrue, hooks: []hookSpec{{kind: "ConfigMap", name: "same", id: "second"}, {kind: "ServiceAccount", name: "same"}}},
				{name: "x", more: others, hooks: []hookSpec{{kind: "ConfigMap", name: "same", id: "third"}, pod("z", 0)}},
			},
			plan: "~same > ~first ~second > a | ~third z",
		},
		{
			name: "an event that is listed twice",
			subs: []hookedChart{
				{name: "one", more: isTrue, hooks: []hookSpec{{kind: "Job", name: "a", events: "pre-install,pre-install"}, pod("b", 0), {kind: "ConfigMap", name: "c", events: "pre-install, pre-install"}}},
				{name: "two", more: others, hooks: []hookSpec{{name: "d", events: "pre-install,Pre-Install"}, pod("e", 0)}},
				{name: "three", hooks: []hookSpec{{name: "f", events: "pre-install,pre-install"}, pod("g", 0)}},
			},
			plan: "~c ~c#2 > a a#2 | b | d d#2 e > f > f#2 > g",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			chart := hookedChart{name: "top", subs: tt.subs}
			newHelm(t).conduct(t, tt.plan, "install", "rel", chart.write(t))
		})
	}
}

// TestHooksThatAreNotWaitedForAreCreatedTogether holds up the creation of hooks of
// one kind until all have been asked for.
func TestHooksThatAreNotWaitedForAreCreatedTogether(t *testing.T) {
	t.Parallel()
	h := newHelm(t)
	p := h.viaProxy(t)
	var asked atomic.Int64
	all := make(chan struct{})
	remove := p.Intercept(func(_ http.ResponseWriter, r *http.Request, what fault.Request) bool {
		if what.Verb == "create" && what.Resource == "configmaps" {
			if asked.Add(1) == 4 {
				close(all)
			}
			select {
			case <-all:
			case <-r.Context().Done():
			}
		}
		return false
	})
	defer remove()
	hooks := func(names string) (list []hookSpec) {
		for name := range strings.FieldsSeq(names) {
			list = append(list, hookSpec{kind: "ConfigMap", name: name})
		}
		return append(list, hookSpec{name: names[:1] + "-pod"}, hookSpec{kind: "ServiceAccount", name: names[:1] + "-account"})
	}
	chart := hookedChart{name: "top", more: "runHooksInParallel: true\n", hooks: hooks("a b"), subs: []hookedChart{
		{name: "sub", more: "runHooksInParallel: true\n", hooks: hooks("c d")},
	}}
	h.conduct(t, "~a-account | ~c-account > ~a | ~b | ~c | ~d > a-pod | c-pod", "install", "rel", chart.write(t))
}
