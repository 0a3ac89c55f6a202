// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookrunner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"sigs.k8s.io/yaml"
)

// Bucket is the hooks of one weight. Its stages run one after the other.
type Bucket struct {
	Weight int
	Stages []Stage
}

// Stage is chains that run side by side.
type Stage struct {
	// Parallel is whether the stage is of charts whose hooks may run beside
	// others; else it is one chain, in Helm's order.
	Parallel bool
	Chains   []Chain
}

// Chain is hooks that run one after the other.
type Chain []*release.Hook

// Buckets puts the hooks of one event into the order in which they run: buckets
// by weight, and inside a bucket first what may run in parallel. A hook that is
// given twice runs twice. The result does not depend on the order of what is
// given, except for hooks of equal weight and name, of which Helm keeps it.
func Buckets(hooks []*release.Hook, modes Modes) []Bucket {
	sorted := slices.Clone(hooks)
	slices.SortStableFunc(sorted, func(a, b *release.Hook) int {
		return cmp.Or(cmp.Compare(a.Weight, b.Weight), cmp.Compare(a.Name, b.Name))
	})
	var buckets []Bucket
	for len(sorted) > 0 {
		weight := sorted[0].Weight
		end := slices.IndexFunc(sorted, func(h *release.Hook) bool { return h.Weight != weight })
		if end < 0 {
			end = len(sorted)
		}
		buckets = append(buckets, Bucket{Weight: weight, Stages: stages(sorted[:end], modes)})
		sorted = sorted[end:]
	}
	return buckets
}

// stages puts hooks of one weight, which come in Helm's order, into stages.
func stages(hooks []*release.Hook, modes Modes) []Stage {
	unwaited := map[string][]indexedChain{} // by kind, which is not waited for
	chains := map[string]int{}              // places in beside, by chart
	var parallel []indexedChain
	var sequential Chain
	for index, h := range hooks {
		mode, chart := modes.Mode(h)
		chain := indexedChain{{h, index, objectKeyOf(h, modes.Namespace)}}
		if h.Name == "" { // the server names it
			chain[0].key.index = index + 1
		}
		at, known := chains[chart]
		switch {
		case mode == Parallel && !IsWaitedFor(h.Kind):
			unwaited[h.Kind] = append(unwaited[h.Kind], chain)
		case mode == Parallel:
			parallel = append(parallel, chain)
		case mode == OtherChartsOnly && known:
			parallel[at] = append(parallel[at], chain...)
		case mode == OtherChartsOnly:
			chains[chart] = len(parallel)
			parallel = append(parallel, chain)
		default:
			sequential = append(sequential, h)
		}
	}
	var all []Stage
	for _, kind := range sortKinds(unwaited) {
		all = append(all, Stage{Parallel: true, Chains: mergeChains(unwaited[kind])})
	}
	if len(parallel) > 0 {
		all = append(all, Stage{Parallel: true, Chains: mergeChains(parallel)})
	}
	if len(sequential) > 0 {
		all = append(all, Stage{Chains: []Chain{sequential}})
	}
	return all
}

// IsWaitedFor reports whether hooks of a kind run to an end that is waited for.
func IsWaitedFor(kind string) bool { return kind == "Job" || kind == "Pod" }

// sortKinds sorts kinds as Helm installs them, those that it does not know
// by name at the end.
func sortKinds(kinds map[string][]indexedChain) []string {
	rank := func(kind string) int {
		if i := slices.Index(releaseutil.InstallOrder, kind); i >= 0 {
			return i
		}
		return len(releaseutil.InstallOrder)
	}
	sorted := make([]string, 0, len(kinds))
	for kind := range kinds {
		sorted = append(sorted, kind)
	}
	slices.SortFunc(sorted, func(a, b string) int { return cmp.Or(rank(a)-rank(b), cmp.Compare(a, b)) })
	return sorted
}

// indexedChain is hooks that run one after the other, each with its place in Helm's order
// and the object that it is.
type indexedChain []indexedHook

type indexedHook struct {
	hook  *release.Hook
	index int
	key   objectKey
}

// objectKey tells objects apart; those that have no name, by their place.
type objectKey struct {
	kind, namespace, name string
	index                 int
}

// objectKeyOf tells which object a hook is. A manifest that cannot be read names no
// namespace: the hook fails when it is its turn.
func objectKeyOf(h *release.Hook, namespace string) objectKey {
	if own, err := Namespace(h); err == nil && own != "" {
		namespace = own
	}
	return objectKey{kind: h.Kind, namespace: namespace, name: h.Name}
}

// Namespace is the namespace that a hook's manifest names; empty if it names none.
func Namespace(h *release.Hook) (string, error) {
	if !strings.Contains(h.Manifest, "namespace") {
		return "", nil
	}
	var object struct {
		Metadata struct {
			Namespace string `json:"namespace"`
		} `json:"metadata"`
	}
	err := yaml.Unmarshal([]byte(h.Manifest), &object)
	return object.Metadata.Namespace, err
}

// mergeChains makes chains of units: those that have an object in common become one,
// in Helm's order. Chains are in the order of their first hooks.
func mergeChains(chains []indexedChain) []Chain {
	parent := make([]int, len(chains)) // the first unit that each is joined to
	first := func(i int) int {
		for parent[i] != i {
			i = parent[i]
		}
		return i
	}
	owner := map[objectKey]int{}
	for i, u := range chains {
		parent[i] = i
		for _, p := range u {
			if other, taken := owner[p.key]; taken {
				a, b := first(other), first(i)
				parent[max(a, b)] = min(a, b)
			}
			owner[p.key] = i
		}
	}
	merged := make([]indexedChain, len(chains))
	for i, u := range chains {
		merged[first(i)] = append(merged[first(i)], u...)
	}
	var result []Chain
	for _, u := range merged {
		if len(u) == 0 {
			continue
		}
		slices.SortFunc(u, func(a, b indexedHook) int { return a.index - b.index })
		chain := make(Chain, len(u))
		for i, p := range u {
			chain[i] = p.hook
		}
		result = append(result, chain)
	}
	return result
}

// IsHelmOrder reports whether all of the buckets runs as Helm runs it.
func IsHelmOrder(buckets []Bucket) bool {
	return !slices.ContainsFunc(buckets, func(b Bucket) bool {
		return slices.ContainsFunc(b.Stages, func(s Stage) bool { return s.Parallel })
	})
}

// Hooks lists the hooks of the bucket, stage by stage and chain by chain.
func (b Bucket) Hooks() []*release.Hook {
	var all []*release.Hook
	for _, s := range b.Stages {
		all = append(all, slices.Concat(s.Chains...)...)
	}
	return all
}

// String is the bucket in one line: stages behind "then", chains that run side by
// side between commas.
func (b Bucket) String() string {
	parts := make([]string, len(b.Stages))
	for i, s := range b.Stages {
		parts[i] = s.String()
	}
	return fmt.Sprintf("weight %d: %s", b.Weight, strings.Join(parts, ", then "))
}

// String is the stage in one line.
func (s Stage) String() string {
	chains := make([]string, len(s.Chains))
	for i, c := range s.Chains {
		chains[i] = c.String()
	}
	if len(chains) == 1 {
		return chains[0]
	}
	return "{" + strings.Join(chains, ", ") + "}"
}

// String is the chain in one line.
func (c Chain) String() string {
	names := make([]string, len(c))
	for i, h := range c {
		names[i] = Title(h)
	}
	return strings.Join(names, " → ")
}

// Title is the kind and the name of a hook, as in "Job/migrate".
func Title(h *release.Hook) string {
	if h.Name == "" {
		return h.Kind + "/(named by the server)"
	}
	return h.Kind + "/" + h.Name
}
