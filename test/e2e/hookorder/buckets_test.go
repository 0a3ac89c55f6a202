// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookorder

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/fault"
	"github.com/ordered-helm/helm/test/harness"
)

// TestHookBuckets checks the order of the hooks of an event within and between buckets. A
// bucket contains the hooks of equal weight.
func TestHookBuckets(t *testing.T) {
	t.Parallel()
	const isTrue, others = "runHooksInParallel: true\n", "runHooksInParallel: otherChartsOnly\n"
	pod := func(name string, weight int) charts.Object { return charts.Object{Name: name, Weight: weight} }
	for _, tt := range []struct {
		name string
		subs []charts.Chart
		plan string
	}{
		{
			// Sorted by name, these hooks would run in the opposite order.
			name: "kinds that are not waited for, in Helm's order of kinds, then Jobs and Pods, then what is by name",
			subs: []charts.Chart{
				{Name: "one", Metadata: isTrue, Objects: []charts.Object{
					{Kind: "Job", Name: "a-job"}, {Kind: "Pod", Name: "b-pod"}, {Kind: "Ingress", Name: "c"}, {Kind: "Deployment", Name: "d"},
					{Kind: "Service", Name: "e"}, {Kind: "RoleBinding", Name: "f"}, {Kind: "Role", Name: "g"}, {Kind: "PersistentVolumeClaim", Name: "h"},
				}},
				{Name: "three", Metadata: isTrue, Objects: []charts.Object{
					{Kind: "ConfigMap", Name: "i"}, {Kind: "Secret", Name: "j"}, {Kind: "ServiceAccount", Name: "k"}, {Kind: "PodDisruptionBudget", Name: "l"},
					{Kind: "NetworkPolicy", Name: "m"}, {Kind: "Job", Name: "n-job"}, {Kind: "ServiceAccount", Name: "o"}, {Kind: "ConfigMap", Name: "p"},
				}},
				{Name: "chain", Metadata: others, Objects: []charts.Object{
					{Name: "z"}, {Kind: "ConfigMap", Name: "y"}, {Name: "x"}, {Kind: "ServiceAccount", Name: "w"},
				}},
				{Name: "two", Objects: []charts.Object{
					{Name: "s"}, {Kind: "Secret", Name: "t"}, {Kind: "Job", Name: "u"}, {Kind: "ServiceAccount", Name: "v"},
				}},
			},
			plan: "~m > ~l > ~k | ~o > ~j > ~i | ~p > ~h > ~g > ~f > ~e > ~d > ~c > a-job | b-pod | n-job | ~w x ~y z > s > ~t > u > ~v",
		},
		{
			name: "weights are numbers, the lowest first, over all charts",
			subs: []charts.Chart{
				{Name: "one", Metadata: isTrue, Objects: []charts.Object{pod("a", 10), pod("b", -5), pod("c", -5), pod("d", 9)}},
				{Name: "two", Objects: []charts.Object{pod("e", -5), pod("f", 9), pod("g", -10)}},
				{Name: "chain", Metadata: others, Objects: []charts.Object{pod("h", 9), pod("i", -5), pod("j", 9), pod("k", 10)}},
			},
			plan: "g > b | c | i > e > d | h j > f > a | k",
		},
		{
			name: "what is not waited for holds up nothing of a lower weight, and a bucket may hold nothing else",
			subs: []charts.Chart{
				{Name: "one", Metadata: isTrue, Objects: []charts.Object{{Kind: "ConfigMap", Name: "a", Weight: 1}, {Kind: "ServiceAccount", Name: "b", Weight: 1}, pod("c", 0), pod("d", 2)}},
				{Name: "two", Objects: []charts.Object{{Kind: "ConfigMap", Name: "e", Weight: 1}}},
			},
			plan: "c > ~b > ~a > ~e > d",
		},
		{
			name: "chains go on by themselves",
			subs: []charts.Chart{
				{Name: "one", Metadata: others, Objects: []charts.Object{pod("a1", 0), pod("a2", 0), pod("a3", 0)}},
				{Name: "two", Metadata: others, Objects: []charts.Object{pod("b3", 0), pod("b2", 0), pod("b1", 0)}},
				{Name: "three", Metadata: others, Objects: []charts.Object{pod("c1", 0), {Kind: "Job", Name: "c2"}}},
				{Name: "four", Metadata: isTrue, Objects: []charts.Object{pod("d", 0)}},
			},
			plan: "a1 a2 a3 | b1 b2 b3 | c1 c2 | d",
		},
		{
			name: "one object in two charts: one after the other",
			subs: []charts.Chart{
				{Name: "one", Metadata: isTrue, Objects: []charts.Object{{Name: "same", ID: "first"}, {Kind: "Job", Name: "same"}, pod("a", 0)}},
				{Name: "two", Metadata: isTrue, Objects: []charts.Object{{Name: "same", ID: "second", Namespace: "{{ .Release.Namespace }}"}, pod("b", 0)}},
			},
			plan: "first second | same | a | b",
		},
		{
			name: "one object in a chain and elsewhere: with all of the chain, by name",
			subs: []charts.Chart{
				{Name: "one", Metadata: isTrue, Objects: []charts.Object{{Kind: "Job", Name: "m", ID: "m1"}, pod("x", 0), {Name: "q", ID: "q1"}}},
				{Name: "two", Metadata: others, Objects: []charts.Object{pod("k", 0), {Kind: "Job", Name: "m", ID: "m2"}, pod("z", 0)}},
				{Name: "three", Metadata: isTrue, Objects: []charts.Object{{Name: "q", ID: "q2"}, pod("y", 0)}},
				{Name: "z-last", Objects: []charts.Object{{Kind: "Job", Name: "m", ID: "m3"}}},
			},
			plan: "k m1 m2 z | q1 q2 | x | y > m3",
		},
		{
			name: "one object in two chains joins them, and a third by another",
			subs: []charts.Chart{
				{Name: "one", Metadata: others, Objects: []charts.Object{pod("a", 0), {Name: "m", ID: "m1"}}},
				{Name: "three", Metadata: others, Objects: []charts.Object{{Name: "n", ID: "n1"}, pod("z", 0)}},
				{Name: "two", Metadata: others, Objects: []charts.Object{pod("b", 0), {Name: "m", ID: "m2"}, {Name: "n", ID: "n2"}}},
				{Name: "with", Metadata: others, Objects: []charts.Object{pod("c", 0), pod("d", 0)}},
			},
			plan: "a b m1 m2 n1 n2 z | c d",
		},
		{
			name: "one object that is not waited for",
			subs: []charts.Chart{
				{Name: "one", Metadata: isTrue, Objects: []charts.Object{{Kind: "ConfigMap", Name: "same", ID: "first"}, pod("a", 0)}},
				{Name: "two", Metadata: isTrue, Objects: []charts.Object{{Kind: "ConfigMap", Name: "same", ID: "second"}, {Kind: "ServiceAccount", Name: "same"}}},
				{Name: "x", Metadata: others, Objects: []charts.Object{{Kind: "ConfigMap", Name: "same", ID: "third"}, pod("z", 0)}},
			},
			plan: "~same > ~first ~second > a | ~third z",
		},
		{
			name: "an event that is listed twice",
			subs: []charts.Chart{
				{Name: "one", Metadata: isTrue, Objects: []charts.Object{{Kind: "Job", Name: "a", Hook: "pre-install,pre-install"}, pod("b", 0), {Kind: "ConfigMap", Name: "c", Hook: "pre-install, pre-install"}}},
				{Name: "two", Metadata: others, Objects: []charts.Object{{Name: "d", Hook: "pre-install,Pre-Install"}, pod("e", 0)}},
				{Name: "three", Objects: []charts.Object{{Name: "f", Hook: "pre-install,pre-install"}, pod("g", 0)}},
			},
			plan: "~c ~c#2 > a a#2 | b | d d#2 e > f > f#2 > g",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			chart := charts.Chart{Name: "top", Subcharts: tt.subs}
			checkHookOrder(t, harness.New(t), tt.plan, "install", "rel", writeGated(t, chart))
		})
	}
}

// TestHooksWithoutWaitAreCreatedInParallel checks that hooks of a kind that Helm does not wait
// for are created in parallel: the proxy delays their create requests until it has received
// all of them.
func TestHooksWithoutWaitAreCreatedInParallel(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	p := h.UseProxy(t)
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
	hooks := func(names string) (list []charts.Object) {
		for name := range strings.FieldsSeq(names) {
			list = append(list, charts.Object{Kind: "ConfigMap", Name: name})
		}
		return append(list, charts.Object{Name: names[:1] + "-pod"}, charts.Object{Kind: "ServiceAccount", Name: names[:1] + "-account"})
	}
	chart := charts.Chart{Name: "top", Metadata: "runHooksInParallel: true\n", Objects: hooks("a b"), Subcharts: []charts.Chart{
		{Name: "sub", Metadata: "runHooksInParallel: true\n", Objects: hooks("c d")},
	}}
	checkHookOrder(t, h, "~a-account | ~c-account > ~a | ~b | ~c | ~d > a-pod | c-pod", "install", "rel", writeGated(t, chart))
}
