// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookorder

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// randomHookReleases is the default number of releases that TestRandomHooks creates.
const randomHookReleases = 2

// TestRandomHooks installs and uninstalls charts with random hooks, and checks with the audit
// log that they run in the order of expectedPlan.
func TestRandomHooks(t *testing.T) {
	t.Parallel()
	first, releases := harness.Seeds(t, randomHookReleases)
	for i := range releases {
		seed := first + i
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			r := &randomHooks{Rand: rand.New(rand.NewPCG(seed, 0))}
			chart := r.chart()
			h := harness.New(t)
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("the hooks:\n%s", r)
				}
			})
			limit := []int{0, 0, 1, 2, 3}[r.IntN(5)]
			h.Env = append(h.Env, fmt.Sprintf("HELM_MAX_PARALLEL_HOOKS=%d", limit))
			conduct := func(events []string, args ...string) {
				hooks := [][]hookInChart{}
				for _, event := range events {
					hooks = append(hooks, r.of(event))
				}
				c := hookOrderCheck{plan: expectedPlan(hooks...), limit: limit, pick: func(running []string) string { return running[r.IntN(len(running))] }}
				c.run(t, h, args...)
				if limit == 1 {
					expectOneAtATime(t, recordedRuns(t, h))
				}
			}
			conduct([]string{"pre-install", "post-install"}, "install", "rel", writeGated(t, chart))
			conduct([]string{"test"}, "test", "rel")
			conduct([]string{"pre-delete"}, "uninstall", "rel")
		})
	}
}

// randomHooks generates a random chart and records its hooks.
type randomHooks struct {
	*rand.Rand
	hooks []hookInChart
	modes []string
}

// String lists the hooks, for the messages of failed tests.
func (r *randomHooks) String() string {
	text := strings.Join(r.modes, "")
	for _, hook := range r.hooks {
		text += fmt.Sprintf("%s: %s of %s, %s, weight %d, %s\n", hook.ID, hook, hook.chart, hook.mode, hook.Weight, hook.Hook)
	}
	return text
}

// of returns the hooks of an event, in the order of their charts and documents.
func (r *randomHooks) of(event string) []hookInChart {
	var list []hookInChart
	for _, hook := range r.hooks {
		for e := range strings.SplitSeq(hook.Hook, ",") {
			if e == event {
				list = append(list, hook)
			}
		}
	}
	return list
}

// chart returns a random chart with subcharts, some of which have subcharts themselves.
func (r *randomHooks) chart() charts.Chart {
	names := []string{"a", "b", "c", "d", "e", "f"}
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	top := charts.Chart{Name: "top"}
	r.fill(&top, "top")
	for _, name := range names[:2+r.IntN(3)] {
		sub := charts.Chart{Name: name, APIVersion: []string{"v1", "v2", "v3"}[r.IntN(3)]}
		parent, path := &top, "top"
		if n := len(top.Subcharts); n > 0 && r.IntN(3) == 0 {
			parent = &top.Subcharts[r.IntN(n)]
			path += "/charts/" + parent.Name
		}
		r.fill(&sub, path+"/charts/"+name)
		parent.Subcharts = append(parent.Subcharts, sub)
	}
	return top
}

// fill sets the hook mode of a chart and adds random hooks to it.
func (r *randomHooks) fill(c *charts.Chart, path string) {
	mode := []string{"true", "true", "otherChartsOnly", "false"}[r.IntN(4)]
	c.Metadata = hookModes[mode][r.IntN(len(hookModes[mode]))]
	r.modes = append(r.modes, c.Name+": "+c.Metadata)
	kinds := []string{"Job", "Pod", "Pod", "Pod", "Pod", "ConfigMap", "ServiceAccount", "Role", "Service"}
	events := []string{"pre-install", "pre-install", "pre-install", "post-install,pre-delete", "test", "pre-install,test", "pre-install,pre-install", "pre-delete", "test,pre-install,test"}
	for i := range 1 + r.IntN(5) {
		hook := charts.Object{
			ID:     fmt.Sprintf("%s-%d", c.Name, i),
			Kind:   kinds[r.IntN(len(kinds))],
			Name:   fmt.Sprintf("n%d", r.IntN(9)),
			Hook:   events[r.IntN(len(events))],
			Weight: []int{0, 0, 0, 0, -1, 7}[r.IntN(6)],
		}
		c.Objects = append(c.Objects, hook)
		// Helm sorts hooks by the path of their template, which begins with the chart's path.
		r.hooks = append(r.hooks, hookInChart{Object: hook, mode: mode, chart: path + "/templates", document: i})
	}
}
