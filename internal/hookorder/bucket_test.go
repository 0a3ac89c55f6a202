// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookorder_test

import (
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/hookorder"
)

// TestThreeCharts is the example of the proposal, with every mode in every chart. Of weight
// 0, chart a has h1, b has h3 and h4, and c has h6. Of weight 1, a has h2, b has h5, and c
// has h7. Modes are t for true, f for false, and o for otherChartsOnly.
func TestThreeCharts(t *testing.T) {
	hooks := readAll(t, "c Job/h7 1", "b Job/h5 1", "b Job/h4", "a Job/h2 1", "c Job/h6", "b Job/h3", "a Job/h1")
	for set, want := range map[string][2]string{
		// The three tables of the proposal.
		"ttt": {"{h1, h3, h4, h6}", "{h2, h5, h7}"},
		"tft": {"{h1, h6}, then h3 → h4", "{h2, h7}, then h5"},
		"tot": {"{h1, h3 → h4, h6}", "{h2, h5, h7}"},
		// The second table with the modes in other charts.
		"ftt": {"{h3, h4, h6}, then h1", "{h5, h7}, then h2"},
		"ttf": {"{h1, h3, h4}, then h6", "{h2, h5}, then h7"},
		"tff": {"h1, then h3 → h4 → h6", "h2, then h5 → h7"},
		"ftf": {"{h3, h4}, then h1 → h6", "h5, then h2 → h7"},
		"fft": {"h6, then h1 → h3 → h4", "h7, then h2 → h5"},
		// The third table with the modes in other charts.
		"ott": {"{h1, h3, h4, h6}", "{h2, h5, h7}"},
		"tto": {"{h1, h3, h4, h6}", "{h2, h5, h7}"},
		"too": {"{h1, h3 → h4, h6}", "{h2, h5, h7}"},
		"oto": {"{h1, h3, h4, h6}", "{h2, h5, h7}"},
		"oot": {"{h1, h3 → h4, h6}", "{h2, h5, h7}"},
		"ooo": {"{h1, h3 → h4, h6}", "{h2, h5, h7}"},
		// All three modes.
		"tfo": {"{h1, h6}, then h3 → h4", "{h2, h7}, then h5"},
		"tof": {"{h1, h3 → h4}, then h6", "{h2, h5}, then h7"},
		"fto": {"{h3, h4, h6}, then h1", "{h5, h7}, then h2"},
		"fot": {"{h3 → h4, h6}, then h1", "{h5, h7}, then h2"},
		"otf": {"{h1, h3, h4}, then h6", "{h2, h5}, then h7"},
		"oft": {"{h1, h6}, then h3 → h4", "{h2, h7}, then h5"},
		// No chart has the mode true.
		"off": {"h1, then h3 → h4 → h6", "h2, then h5 → h7"},
		"fof": {"h3 → h4, then h1 → h6", "h5, then h2 → h7"},
		"ffo": {"h6, then h1 → h3 → h4", "h7, then h2 → h5"},
		"foo": {"{h3 → h4, h6}, then h1", "{h5, h7}, then h2"},
		"ofo": {"{h1, h6}, then h3 → h4", "{h2, h7}, then h5"},
		"oof": {"{h1, h3 → h4}, then h6", "{h2, h5}, then h7"},
		"fff": {"h1 → h3 → h4 → h6", "h2 → h5 → h7"},
	} {
		t.Run(set, func(t *testing.T) {
			m := modes("")
			for i, letter := range set {
				m.ByChart["abc"[i:i+1]] = map[rune]hookorder.Mode{'t': hookorder.Parallel, 'f': hookorder.Sequential, 'o': hookorder.OtherChartsOnly}[letter]
			}
			text := "weight 0: " + want[0] + "\nweight 1: " + want[1]
			buckets := hookorder.Buckets(hooks, m)
			if got := strings.ReplaceAll(printed(buckets), "Job/", ""); got != text {
				t.Errorf("got\n%s\nwant\n%s", got, text)
			}
			if got := hookorder.IsHelmOrder(buckets); got != (set == "fff") {
				t.Errorf("in Helm's order: %v", got)
			}
		})
	}
}

func TestBuckets(t *testing.T) {
	tests := []struct {
		name  string
		modes string
		hooks []string
		want  string
	}{
		{"nothing", "a=true", nil, ""},
		{"by weight", "", []string{"a Job/a 5", "a Job/b -5", "a Job/c"}, "weight -5: Job/b\nweight 0: Job/c\nweight 5: Job/a"},
		{"weights are numbers", "a=true", []string{"a Job/a 10", "a Job/b 9"}, "weight 9: Job/b\nweight 10: Job/a"},
		{"of equal weight by name", "", []string{"a Job/b 1", "a Pod/a 1", "a Secret/c"}, "weight 0: Secret/c\nweight 1: Pod/a → Job/b"},
		{"names are compared as bytes", "", []string{"a Job/b", "a Job/a10", "a Job/a9", "a Job/a-1"}, "weight 0: Job/a-1 → Job/a10 → Job/a9 → Job/b"},
		{"equal in weight and name, in the order given", "", []string{"b Job/x", "a Pod/x", "c Secret/x"}, "weight 0: Job/x → Pod/x → Secret/x"},
		{"a chart that is not named is in Helm's order", "b=true", []string{"a Job/a", "a Job/b"}, "weight 0: Job/a → Job/b"},
		{"false in so many words", "a=false", []string{"a Job/a", "a Job/b"}, "weight 0: Job/a → Job/b"},
		{"a parent says nothing for what is in it", "a=true", []string{"a/b Job/a", "a/b Job/b", "a Job/c"}, "weight 0: Job/c, then Job/a → Job/b"},
		{"nor a chart for its parent", "a/b=true", []string{"a Job/a", "a Job/b", "a/b Job/c"}, "weight 0: Job/c, then Job/a → Job/b"},
		{
			"kinds that are not waited for come first, as Helm installs them, and together", "a=true b=true",
			[]string{"a Job/a", "b Pod/b", "b Widget/c", "a Secret/d", "a Apple/e", "b ServiceAccount/f", "b Secret/g", "a ConfigMap/h", "b Deployment/i"},
			"weight 0: ServiceAccount/f, then {Secret/d, Secret/g}, then ConfigMap/h, then Deployment/i, then Apple/e, then Widget/c, then {Job/a, Pod/b}",
		},
		{
			"in chains they stay where they are", "a=otherChartsOnly b=true",
			[]string{"a Job/a", "a Secret/b", "a Job/c", "b Job/d", "b Secret/e"},
			"weight 0: Secret/e, then {Job/a → Secret/b → Job/c, Job/d}",
		},
		{
			"in Helm's order, too", "b=true",
			[]string{"a Job/a", "a Secret/b", "b Secret/c"}, "weight 0: Secret/c, then Job/a → Secret/b",
		},
		{
			"chains are in the order of their first hooks", "a=otherChartsOnly b=otherChartsOnly c=true",
			[]string{"a Job/b", "a Job/d", "b Job/a", "b Job/e", "c Job/c"}, "weight 0: {Job/a → Job/e, Job/b → Job/d, Job/c}",
		},
		{
			"a chain is of one weight", "a=otherChartsOnly",
			[]string{"a Job/a", "a Job/b", "a Job/c 1"}, "weight 0: Job/a → Job/b\nweight 1: Job/c",
		},
		{
			"charts of equal name in other places are two", "s/a=otherChartsOnly s/b/a=otherChartsOnly",
			[]string{"s/a Job/a", "s/a Job/b", "s/b/a Job/c", "s/b/a Job/d"}, "weight 0: {Job/a → Job/b, Job/c → Job/d}",
		},
		{
			"one object", "a=true b=true",
			[]string{"a Job/x", "b Job/x", "a Job/y", "a Pod/x"}, "weight 0: {Job/x → Job/x, Pod/x, Job/y}",
		},
		{
			"one object that is not waited for", "a=true b=true",
			[]string{"a Secret/x", "b Secret/x", "a Secret/y"}, "weight 0: {Secret/x → Secret/x, Secret/y}",
		},
		{
			"the release's namespace in so many words", "a=true b=true",
			[]string{"a Job/x ns=shop", "b Job/x", "b Job/y"}, "weight 0: {Job/x → Job/x, Job/y}",
		},
		{
			"another namespace", "a=true b=true",
			[]string{"a Job/x ns=other", "b Job/x", "b Job/x ns=other"}, "weight 0: {Job/x → Job/x, Job/x}",
		},
		{
			"a chain and an object of it", "a=otherChartsOnly b=true",
			[]string{"a Job/a", "a Job/c", "b Job/c", "b Job/b"}, "weight 0: {Job/a → Job/c → Job/c, Job/b}",
		},
		{
			"chains with an object in common", "a=otherChartsOnly b=otherChartsOnly",
			[]string{"a Job/a", "a Job/c", "b Job/b", "b Job/c", "b Job/d"}, "weight 0: Job/a → Job/b → Job/c → Job/c → Job/d",
		},
		{
			"chains with a chain in common", "a=otherChartsOnly b=otherChartsOnly c=otherChartsOnly d=otherChartsOnly e=true",
			[]string{"a Job/a", "a Job/x", "b Job/b", "b Job/y", "c Job/c", "c Job/x", "c Job/y", "d Job/d", "d Job/w", "e Job/d"},
			"weight 0: {Job/a → Job/b → Job/c → Job/x → Job/x → Job/y → Job/y, Job/d → Job/d → Job/w}",
		},
		{
			"the same object later is another bucket or stage", "a=true b=otherChartsOnly",
			[]string{"a Secret/x", "b Secret/x", "c Secret/x", "a Secret/x 1"},
			"weight 0: Secret/x, then Secret/x, then Secret/x\nweight 1: Secret/x",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			hooks := readAll(t, tt.hooks...)
			given := titles(hooks)
			if got := printed(hookorder.Buckets(hooks, modes(tt.modes))); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
			if titles(hooks) != given {
				t.Error("the hooks that were given are in another order")
			}
		})
	}
}

// TestHookThatIsListedTwice checks that a hook that is listed twice runs twice, and not in
// parallel with itself.
func TestHookThatIsListedTwice(t *testing.T) {
	twice := hook("b", 0, release.HookTest, release.HookPreInstall, release.HookTest)
	hooks := hookorder.ForEvent([]*release.Hook{hook("c", 0, release.HookTest), twice, hook("a", 0, release.HookTest)}, release.HookTest)
	for set, want := range map[string]string{
		"":                     "weight 0: Job/a → Job/b → Job/b → Job/c",
		"shop=true":            "weight 0: {Job/a, Job/b → Job/b, Job/c}",
		"shop=otherChartsOnly": "weight 0: Job/a → Job/b → Job/b → Job/c",
	} {
		if got := printed(hookorder.Buckets(hooks, modes(set))); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", set, got, want)
		}
	}
}

// TestManifestsThatCannotBeRead checks that a hook whose manifest cannot be decoded counts
// as an object in the namespace of the release.
func TestManifestsThatCannotBeRead(t *testing.T) {
	hooks := readAll(t, "a Job/x", "b Job/x", "a Job/x", "b Job/x", "b Job/x", "a Job/y")
	for i, manifest := range []string{"", "namespace: [", "metadata: {namespace: [other]}", "metadata: {namespace: }", "namespace: other"} {
		hooks[i].Manifest = manifest
	}
	want := "weight 0: {Job/x → Job/x → Job/x → Job/x → Job/x, Job/y}"
	if got := printed(hookorder.Buckets(hooks, modes("a=true b=true"))); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	hooks[1].Manifest = "kind: Job\nmetadata:\n  namespace: other\n  name: x"
	hooks[2].Manifest = `{"metadata":{"namespace":"other"}}`
	want = "weight 0: {Job/x → Job/x → Job/x, Job/x → Job/x, Job/y}"
	if got := printed(hookorder.Buckets(hooks, modes("a=true b=true"))); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestModesOfNothing checks that hooks are in Helm's order, without a call of ChartOf, if
// no chart has a mode.
func TestModesOfNothing(t *testing.T) {
	hooks := readAll(t, "a Job/b", "a Job/a")
	for _, m := range []hookorder.ChartModes{{}, {Namespace: "shop", ByChart: map[string]hookorder.Mode{}}} {
		buckets := hookorder.Buckets(hooks, m)
		if got := printed(buckets); got != "weight 0: Job/a → Job/b" || !hookorder.IsHelmOrder(buckets) {
			t.Errorf("got %s", got)
		}
	}
	if !hookorder.IsHelmOrder(nil) {
		t.Error("nothing at all is in Helm's order")
	}
}

func TestIsParallel(t *testing.T) {
	for mode, want := range map[hookorder.Mode]bool{
		hookorder.Parallel: true, hookorder.OtherChartsOnly: true, hookorder.Sequential: false, "": false, "yes": false,
	} {
		if mode.IsParallel() != want {
			t.Errorf("%q: %v, want %v", mode, !want, want)
		}
	}
}

// TestBucketsOfUnnamedHooks checks that hooks whose names the server generates are
// different objects.
func TestBucketsOfUnnamedHooks(t *testing.T) {
	buckets := hookorder.Buckets([]*release.Hook{hook("", 0), hook("", 0)}, modes("shop=true"))
	const want = "weight 0: {Job/(named by the server), Job/(named by the server)}"
	if len(buckets) != 1 || buckets[0].String() != want {
		t.Errorf("got %v, want %s", buckets, want)
	}
}
