// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookorder

import (
	"cmp"
	"maps"
	"slices"

	"helm.sh/helm/v3/pkg/releaseutil"

	"github.com/ordered-helm/helm/test/charts"
)

// hookInChart is a hook with everything that determines its position in the order of hooks.
type hookInChart struct {
	charts.Object
	// mode is the hook mode of the chart.
	mode string
	// chart is the path of the chart. document is the index of the hook in the chart.
	chart    string
	document int
}

// compareInHelmsOrder compares two hooks by the order in which stock Helm runs them.
func compareInHelmsOrder(a, b hookInChart) int {
	return cmp.Or(
		cmp.Compare(a.Weight, b.Weight),
		cmp.Compare(a.Name, b.Name),
		cmp.Compare(kindIndex(a.Kind), kindIndex(b.Kind)),
		cmp.Compare(a.chart, b.chart),
		cmp.Compare(a.document, b.document),
	)
}

func kindIndex(kind string) int { return slices.Index(releaseutil.InstallOrder, kind) }

// expectedPlan returns the expected plan for the hooks of consecutive events. It is
// independent of the code under test. A hook that lists an event twice is run twice.
func expectedPlan(events ...[]hookInChart) *hookPlan {
	p := &hookPlan{after: map[string]map[string]bool{}, loose: map[string]bool{}}
	count := map[string]int{}
	for _, hooks := range events {
		hooks = slices.SortedStableFunc(slices.Values(hooks), compareInHelmsOrder)
		for len(hooks) > 0 {
			end := slices.IndexFunc(hooks, func(hook hookInChart) bool { return hook.Weight != hooks[0].Weight })
			if end < 0 {
				end = len(hooks)
			}
			for _, step := range bucketSteps(hooks[:end]) {
				p.addStep(step, count)
			}
			hooks = hooks[end:]
		}
	}
	return p
}

// addStep adds chains to the plan that run in parallel with each other, after all runs that
// were added before. A chain is a list of hooks that run sequentially.
func (p *hookPlan) addStep(chains [][]hookInChart, count map[string]int) {
	before := slices.Clone(p.ids)
	for _, chain := range chains {
		earlier := slices.Clone(before)
		for _, hook := range chain {
			id := runID(hookID(hook.Object), count)
			p.add(id, !isWaited(hook.Object), earlier)
			earlier = append(earlier, id)
		}
	}
}

// bucketSteps returns the steps in which the hooks of one bucket run. Each step is a list of
// chains. The bucket must be in the order of stock Helm.
func bucketSteps(bucket []hookInChart) [][][]hookInChart {
	first := map[int][][]hookInChart{} // by the position of the kind
	var beside, last [][]hookInChart
	byChart := map[string]int{}
	for _, hook := range bucket {
		switch {
		case hook.mode == "false":
			last = append(last, []hookInChart{hook})
		case hook.mode == "otherChartsOnly":
			at, known := byChart[hook.chart]
			if !known {
				at = len(beside)
				byChart[hook.chart] = at
				beside = append(beside, nil)
			}
			beside[at] = append(beside[at], hook)
		case isWaited(hook.Object):
			beside = append(beside, []hookInChart{hook})
		default:
			first[kindIndex(hook.Kind)] = append(first[kindIndex(hook.Kind)], []hookInChart{hook})
		}
	}
	var steps [][][]hookInChart
	for _, place := range slices.Sorted(maps.Keys(first)) {
		steps = append(steps, joinChains(first[place]))
	}
	steps = append(steps, joinChains(beside))
	for _, hook := range last {
		steps = append(steps, [][]hookInChart{hook})
	}
	return steps
}

// joinChains joins chains whose hooks have an object in common, because such hooks must not
// run in parallel.
func joinChains(chains [][]hookInChart) [][]hookInChart {
	var result [][]hookInChart
	for _, chain := range chains {
		apart := [][]hookInChart{}
		for _, other := range result {
			if haveCommonObject(chain, other) {
				chain = append(slices.Clone(chain), other...)
			} else {
				apart = append(apart, other)
			}
		}
		slices.SortStableFunc(chain, compareInHelmsOrder)
		apart = append(apart, chain)
		result = apart
	}
	return result
}

func haveCommonObject(a, b []hookInChart) bool {
	return slices.ContainsFunc(a, func(x hookInChart) bool {
		return slices.ContainsFunc(b, func(y hookInChart) bool { return x.String() == y.String() })
	})
}
