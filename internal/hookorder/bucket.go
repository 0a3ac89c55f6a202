// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookorder

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/release"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/kind"
)

// Bucket holds the hooks of one event that have the same weight. Its stages run sequentially.
type Bucket struct {
	Weight int
	Stages []Stage
}

// Stage is a part of a bucket. Its chains run in parallel, and the next stage starts when
// all of them have completed.
type Stage struct {
	// Parallel reports whether the charts of the hooks allow them to run in parallel with
	// other hooks. If not, the stage is a single chain, in Helm's order.
	Parallel bool
	Chains   []Chain
}

// Chain is a list of hooks of one stage that run sequentially.
type Chain []*release.Hook

// Buckets returns the order in which the hooks of one event run, as buckets sorted by
// weight. In each bucket, the hooks that can run in parallel run first. A hook that occurs
// twice in hooks runs twice. The result does not depend on the order of hooks, except that
// those with equal weight and equal name keep their order, as in Helm.
func Buckets(hooks []*release.Hook, modes ChartModes) []Bucket {
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

// stages divides hooks of one weight, given in Helm's order, into stages: first one for
// each kind that Helm does not wait for, such as ConfigMap, then one for the other hooks
// that can run in parallel, and last one for the hooks that cannot.
func stages(hooks []*release.Hook, modes ChartModes) []Stage {
	unwaited := map[string][]indexedChain{} // by kind: parallel hooks of kinds that Helm does not wait for
	chains := map[string]int{}              // by chart with OtherChartsOnly: the index of its chain in parallel
	var parallel []indexedChain
	var sequential Chain
	for index, h := range hooks {
		mode, chart := modes.Mode(h)
		chain := indexedChain{{h, index, objectKeyOf(h, modes.Namespace)}}
		if h.Name == "" { // the server generates the name
			chain[0].key.index = index + 1
		}
		at, known := chains[chart]
		switch {
		case mode == Parallel && !RequiresWait(h.Kind):
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
	for _, k := range slices.SortedFunc(maps.Keys(unwaited), compareKinds) {
		all = append(all, Stage{Parallel: true, Chains: mergeChains(unwaited[k])})
	}
	if len(parallel) > 0 {
		all = append(all, Stage{Parallel: true, Chains: mergeChains(parallel)})
	}
	if len(sequential) > 0 {
		all = append(all, Stage{Chains: []Chain{sequential}})
	}
	return all
}

// RequiresWait reports whether hooks of this kind run to completion. As in Helm, other
// hooks count as completed when they are created.
func RequiresWait(hookKind string) bool { return hookKind == "Job" || hookKind == "Pod" }

// compareKinds orders kinds by Helm's install order. Kinds that are not in it come last,
// by name.
func compareKinds(a, b string) int {
	return cmp.Or(kind.InstallRank(a)-kind.InstallRank(b), strings.Compare(a, b))
}

// indexedChain is a Chain while stages computes the order.
type indexedChain []keyedHook

// keyedHook is a hook with its index in Helm's order and the key of its object.
type keyedHook struct {
	hook  *release.Hook
	index int
	key   objectKey
}

// objectKey identifies the object of a hook: two hooks with equal keys must not run in
// parallel. index is 0 if the object has a name. If the server generates the name, index
// makes the key unique.
type objectKey struct {
	kind, namespace, name string
	index                 int
}

// objectKeyOf returns the key of the object of a hook. namespace is the namespace of the
// release. It is used if the manifest declares none, and if the manifest cannot be
// decoded; such a hook fails anyway when it runs.
func objectKeyOf(h *release.Hook, namespace string) objectKey {
	if own, err := Namespace(h); err == nil && own != "" {
		namespace = own
	}
	return objectKey{kind: h.Kind, namespace: namespace, name: h.Name}
}

// Namespace returns the namespace that the manifest of a hook declares, or "" if it
// declares none.
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

// mergeChains merges chains that contain hooks with the same object, so that these hooks
// do not run in parallel. The hooks of a merged chain are in Helm's order, and the chains
// are in the order of their first hooks.
func mergeChains(chains []indexedChain) []Chain {
	parent := make([]int, len(chains)) // by index of a chain: the index of the chain it is merged into, or its own index
	first := func(i int) int {
		for parent[i] != i {
			i = parent[i]
		}
		return i
	}
	chainOf := map[objectKey]int{}
	for i, u := range chains {
		parent[i] = i
		for _, p := range u {
			if other, known := chainOf[p.key]; known {
				a, b := first(other), first(i)
				parent[max(a, b)] = min(a, b)
			}
			chainOf[p.key] = i
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
		slices.SortFunc(u, func(a, b keyedHook) int { return a.index - b.index })
		chain := make(Chain, len(u))
		for i, p := range u {
			chain[i] = p.hook
		}
		result = append(result, chain)
	}
	return result
}

// IsHelmOrder reports whether all hooks of the buckets run sequentially, in Helm's order.
func IsHelmOrder(buckets []Bucket) bool {
	return !slices.ContainsFunc(buckets, func(b Bucket) bool {
		return slices.ContainsFunc(b.Stages, func(s Stage) bool { return s.Parallel })
	})
}

// Hooks returns all hooks of the bucket, sorted by stage and then by chain.
func (b Bucket) Hooks() []*release.Hook {
	var all []*release.Hook
	for _, s := range b.Stages {
		all = append(all, slices.Concat(s.Chains...)...)
	}
	return all
}

// String returns the bucket in one line, as in "weight 0: {Job/a, Job/b → Job/c}, then Job/d".
// Stages are separated by "then", chains by commas, and the hooks of a chain by arrows.
func (b Bucket) String() string {
	parts := make([]string, len(b.Stages))
	for i, s := range b.Stages {
		parts[i] = s.String()
	}
	return fmt.Sprintf("weight %d: %s", b.Weight, strings.Join(parts, ", then "))
}

// String returns the stage in one line.
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

// String returns the chain in one line.
func (c Chain) String() string {
	names := make([]string, len(c))
	for i, h := range c {
		names[i] = Title(h)
	}
	return strings.Join(names, " → ")
}

// Title returns the kind and name of a hook, as in "Job/migrate".
func Title(h *release.Hook) string {
	if h.Name == "" {
		return h.Kind + "/(named by the server)"
	}
	return h.Kind + "/" + h.Name
}
