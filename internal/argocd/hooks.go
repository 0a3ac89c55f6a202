// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"helm.sh/helm/v3/pkg/release"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/dag"
	"github.com/ordered-helm/helm/internal/hookorder"
)

// phases lists the phases of Argo CD in which the hooks of Helm's events run. Argo CD does
// not distinguish installs from upgrades, and has no rollbacks or tests.
var phases = []struct {
	name   string
	events []release.HookEvent
}{
	{"PreSync", []release.HookEvent{release.HookPreInstall, release.HookPreUpgrade}},
	{"PostSync", []release.HookEvent{release.HookPostInstall, release.HookPostUpgrade}},
	{"PreDelete", []release.HookEvent{release.HookPreDelete}},
	{"PostDelete", []release.HookEvent{release.HookPostDelete}},
}

// skip is the value of the annotation Hook for a hook that Argo CD must not apply.
const skip = "Skip"

// SequenceHooks returns hooks with annotations that tell Argo CD when to run them. Hooks
// that run sequentially get different waves, and hooks that run in parallel get the same
// wave. A hook that already has the annotation Hook is not changed. The warnings name the
// hooks that Argo CD runs at other times than Helm, or never. modes says which hooks run in
// parallel.
func SequenceHooks(hooks []*release.Hook, modes hookorder.ChartModes) (sequenced []*release.Hook, warnings []string, err error) {
	waves := hookWaves(hooks, modes)
	for _, h := range hooks {
		changed := *h
		annotations, warning := annotationsFor(h, waves[h])
		if warning != "" {
			warnings = append(warnings, fmt.Sprintf("%s: %s: %s", h.Path, hookorder.Title(h), warning))
		}
		if changed.Manifest, err = annotate(h.Manifest, annotations...); err != nil {
			return nil, nil, fmt.Errorf("%s: %s: %w", h.Path, hookorder.Title(h), err)
		}
		sequenced = append(sequenced, &changed)
	}
	return sequenced, warnings, nil
}

// annotationsFor returns the annotations to add to the hook h, and a warning if Argo CD
// runs the hook at other times than Helm, or never.
func annotationsFor(h *release.Hook, wave int) (annotations []keyValue, warning string) {
	var object map[string]any
	if yaml.Unmarshal([]byte(h.Manifest), &object) != nil || IsHook(object) {
		return nil, ""
	}
	has := func(events ...release.HookEvent) bool {
		return slices.ContainsFunc(h.Events, func(e release.HookEvent) bool { return slices.Contains(events, e) })
	}
	if has(hookorder.EventCRDInstall) {
		// If this were a hook of Argo CD, it would be deleted before each sync, with all
		// objects of the kinds that it defines.
		return []keyValue{{Wave, "-1"}}, ""
	}
	var names []string
	for _, p := range phases {
		if has(p.events...) {
			names = append(names, p.name)
		}
	}
	if len(names) == 0 {
		return []keyValue{{Hook, skip}}, fmt.Sprintf("Argo CD has no equivalent of %s: the hook is marked to be skipped", eventsOf(h))
	}
	for _, pair := range [][2]release.HookEvent{{release.HookPreInstall, release.HookPreUpgrade}, {release.HookPostInstall, release.HookPostUpgrade}} {
		if has(pair[0]) != has(pair[1]) {
			warning = fmt.Sprintf("it is for %s, but Argo CD does not distinguish installations from upgrades: the hook runs at every sync", eventsOf(h))
		}
	}
	annotations = []keyValue{{Hook, strings.Join(names, ",")}, {Wave, strconv.Itoa(wave)}}
	if policy := deletePolicy(h); policy != "" && annotationOf(object, HookDelete) == "" {
		annotations = append(annotations, keyValue{HookDelete, policy})
	}
	return annotations, warning
}

// eventsOf returns the names of the events of a hook, separated by commas.
func eventsOf(h *release.Hook) string {
	names := make([]string, len(h.Events))
	for i, e := range h.Events {
		names[i] = e.String()
	}
	return strings.Join(names, ", ")
}

// deletePolicy returns the delete policies of a hook with the names that Argo CD uses. If
// the hook has none, the result is empty. Helm and Argo CD then do the same: they delete
// the hook before they create it again.
func deletePolicy(h *release.Hook) string {
	words := map[release.HookDeletePolicy]string{
		release.HookSucceeded: "HookSucceeded", release.HookFailed: "HookFailed", release.HookBeforeHookCreation: "BeforeHookCreation",
	}
	var policies []string
	for _, p := range h.DeletePolicies {
		if word := words[p]; word != "" && !slices.Contains(policies, word) {
			policies = append(policies, word)
		}
	}
	return strings.Join(policies, ",")
}

// hookWaves returns the wave of each hook. If a hook runs after other hooks in any phase,
// its wave is higher than theirs.
func hookWaves(hooks []*release.Hook, modes hookorder.ChartModes) map[*release.Hook]int {
	index := make(map[*release.Hook]int, len(hooks))
	for i, h := range hooks {
		index[h] = i
	}
	graph := dag.New(len(hooks))
	for _, p := range phases {
		var of []*release.Hook
		for _, h := range hooks {
			if slices.ContainsFunc(h.Events, func(e release.HookEvent) bool { return slices.Contains(p.events, e) }) {
				of = append(of, h)
			}
		}
		addOrder(graph, index, hookorder.Buckets(of, modes))
	}
	// Only hooks count for the depth, and not the vertices that addOrder adds between stages.
	depths := graph.Depths(len(hooks))
	waves := make(map[*release.Hook]int, len(hooks))
	for h, i := range index {
		waves[h] = depths[i]
	}
	return waves
}

// addOrder adds the order of the hooks of one phase to graph. index contains the vertex of
// each hook. A bucket contains the hooks of equal weight. Its stages run sequentially, the
// chains of a stage run in parallel, and the hooks of a chain run sequentially. Between two
// stages, addOrder adds a vertex that depends on all chains of the first one.
func addOrder(graph *dag.Graph, index map[*release.Hook]int, buckets []hookorder.Bucket) {
	barrier := -1 // the vertex after the previous stage; -1 if there is none
	for _, b := range buckets {
		for _, s := range b.Stages {
			next := graph.AddVertex()
			for _, c := range s.Chains {
				before := barrier
				for _, h := range c {
					if before >= 0 {
						graph.AddEdge(index[h], before)
					}
					before = index[h]
				}
				graph.AddEdge(next, before)
			}
			barrier = next
		}
	}
}
