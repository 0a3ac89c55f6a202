// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookorder

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// limitedChart returns a chart with subcharts of each hook mode, with hooks in two buckets.
func limitedChart() charts.Chart {
	pod := func(name string, weight int) charts.Object { return charts.Object{Name: name, Weight: weight} }
	return charts.Chart{Name: "top", Subcharts: []charts.Chart{
		{Name: "one", Metadata: "runHooksInParallel: true\n", Objects: []charts.Object{
			pod("a", 0), pod("b", 0), {Kind: "Job", Name: "c"}, pod("d", 1), pod("e", 1),
			{Kind: "ConfigMap", Name: "f"}, {Kind: "ConfigMap", Name: "g"}, {Kind: "ServiceAccount", Name: "h"}, {Kind: "ServiceAccount", Name: "i"},
		}},
		{Name: "chain", Metadata: "runHooksInParallel: otherChartsOnly\n", Objects: []charts.Object{pod("j", 0), {Kind: "ConfigMap", Name: "k"}, pod("l", 0), pod("m", 1)}},
		{Name: "last", Objects: []charts.Object{pod("n", 0), pod("o", 0)}},
	}}
}

const limitedPlan = "~h | ~i > ~f | ~g > a | b | c | j ~k l > n > o > d | e | m"

// TestHookLimit checks that at most HELM_MAX_PARALLEL_HOOKS hooks run in parallel, that this
// number is reached, and that the order of the hooks is the same as without a limit.
func TestHookLimit(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{0, 1, 2, 3, 100} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			h.Env = append(h.Env, fmt.Sprintf("HELM_MAX_PARALLEL_HOOKS=%d", limit))
			c := hookOrderCheck{plan: parsePlan(limitedPlan), limit: limit}
			c.run(t, h, "install", "rel", writeGated(t, limitedChart()))
			if limit == 1 {
				expectOneAtATime(t, recordedRuns(t, h))
			}
		})
	}
}

// expectOneAtATime checks that no hook was created before the previous hook had ended.
func expectOneAtATime(tb testing.TB, runs []*hookRun) {
	tb.Helper()
	for i, r := range runs[1:] {
		if before := runs[i]; r.created.Before(before.ended) {
			tb.Errorf("%s was created at %s, before %s had ended at %s", r.id, r.created, before.id, before.ended)
		}
	}
}

// TestInvalidHookLimit checks that every operation that runs hooks rejects an invalid
// limit before anything is changed.
func TestInvalidHookLimit(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	chart := writeGated(t, charts.Chart{Name: "top", HookMode: "true", Template: charts.ConfigMap("own"), Objects: []charts.Object{
		{Name: "a", Gate: ungated, Hook: "pre-install,pre-upgrade,pre-rollback,pre-delete,test"},
	}})
	h.MustRun("install", "rel", chart)
	env := slices.Clone(h.Env)
	h.Started = harness.Now()
	for _, tt := range []struct {
		value string
		args  []string
	}{
		{"-1", []string{"install", "new", chart}},
		{"many", []string{"install", "new", chart}},
		{"1.5", []string{"upgrade", "rel", chart}},
		{"2x", []string{"upgrade", "new", chart, "--install"}},
		{"-1", []string{"upgrade", "rel", chart}},
		{"-1", []string{"rollback", "rel", "1"}},
		{"99999999999999999999", []string{"test", "rel"}},
		{"-1", []string{"uninstall", "rel"}},
	} {
		h.Env = append(slices.Clone(env), "HELM_MAX_PARALLEL_HOOKS="+tt.value)
		h.ExpectFailure(t, tt.args, "HELM_MAX_PARALLEL_HOOKS", tt.value)
	}
	for id := range h.ReadTrace(t).Since(h.Started) {
		t.Errorf("%s was touched", id)
	}
	h.ExpectStatuses(t, "rel", "deployed")
}
