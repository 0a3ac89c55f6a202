// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/field"
	"github.com/ordered-helm/helm/internal/kind"
)

// resource is a resource while the plan is built. declares reports whether it has
// sequencing annotations.
type resource struct {
	PlannedResource
	chart    int // index in builder.charts
	rank     int // the position of its kind in Helm's install order
	order    annotation.Resource
	declares bool
}

// readResources sets b.resources. It replaces each List with its items, identifies the
// objects and reads their annotations. It returns all errors together.
func (b *builder) readResources(in Input) error {
	numbered := slices.Clone(in.Resources)
	for i := range numbered {
		numbered[i].source = i
	}
	flat := flatten(numbered)
	scopes := customScopes(flat)
	resources := make([]resource, 0, len(flat))
	var problems []error
	for _, r := range flat {
		chart, ok := b.byPath[r.Chart]
		if !ok {
			problems = append(problems, fmt.Errorf("%s: comes from chart %q, which the release does not have", r.File, r.Chart))
			continue
		}
		res := newResource(r, in.Namespace, scopes)
		res.chart = chart
		for _, err := range splitErrors(res.readAnnotations(b.charts[chart].Sequenced)) {
			problems = append(problems, &ResourceError{File: r.File, ID: res.ID, Err: err})
		}
		if err := b.dependencies.add(len(res.order.DependsOn), r.File); err != nil {
			problems = append(problems, err)
		}
		if b.dependencies.exceeded() {
			res.order.DependsOn = nil
		}
		resources = append(resources, res)
	}
	b.resources = sortResources(resources)
	b.readDefinitions()
	problems = append(problems, b.duplicates()...)
	return errors.Join(problems...)
}

// newResource returns r with its ID. namespace is that of the release. scopes is the result
// of customScopes.
func newResource(r Resource, namespace string, scopes map[[2]string]bool) resource {
	res := resource{PlannedResource: PlannedResource{
		File: r.File, Policy: cmp.Or(policyOf(r.Object), r.policy), Source: r.source, object: r.Object,
	}}
	res.identify(namespace, scopes)
	res.rank = kind.InstallRank(res.ID.Kind)
	return res
}

// sortResources sorts resources by chart, then in the order in which a node deploys them,
// so that the plan does not depend on the order of the input.
func sortResources(resources []resource) []resource {
	order := make([]int, len(resources))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		x, y := &resources[i], &resources[j]
		return cmp.Or(cmp.Compare(x.chart, y.chart), compareResources(x, y), cmp.Compare(x.File, y.File), cmp.Compare(i, j))
	})
	all := make([]resource, len(resources))
	for to, from := range order {
		all[to] = resources[from]
	}
	return all
}

// flatten replaces each List with its items, also if Lists are nested.
func flatten(in []Resource) []Resource {
	if !slices.ContainsFunc(in, func(r Resource) bool { return isList(r.Object) }) {
		return in
	}
	var out []Resource
	for _, r := range in {
		if !isList(r.Object) {
			out = append(out, r)
			continue
		}
		var inner []Resource
		for _, item := range field.Maps(r.Object, "items") {
			inner = append(inner, Resource{
				Chart: r.Chart, File: r.File, Object: itemOf(r.Object, item), policy: cmp.Or(policyOf(r.Object), r.policy), source: r.source,
			})
		}
		out = append(out, flatten(inner)...)
	}
	return out
}

func policyOf(object map[string]any) string {
	return field.String(field.Map(object, "metadata", "annotations"), annotation.ResourcePolicy)
}

// isList reports whether an object contains other objects. Like Kubernetes, it considers an
// object a list if it has items. An object of kind List counts even without items.
func isList(object map[string]any) bool {
	_, hasItems := object["items"].([]any)
	return hasItems || field.String(object, "kind") == "List"
}

// itemOf returns item with its kind. In a list of one kind, such as ConfigMapList, items
// can omit their kind.
func itemOf(list, item map[string]any) map[string]any {
	kind, ofKind := strings.CutSuffix(field.String(list, "kind"), "List")
	if field.String(item, "kind") != "" || !ofKind || kind == "" {
		return item
	}
	typed := maps.Clone(item)
	typed["kind"], typed["apiVersion"] = kind, list["apiVersion"]
	return typed
}

func (r *resource) identify(namespace string, scopes map[[2]string]bool) {
	metadata := field.Map(r.object, "metadata")
	r.APIVersion = field.String(r.object, "apiVersion")
	r.ID.Kind, r.ID.Name = field.String(r.object, "kind"), field.String(metadata, "name")
	r.ID.Group = kind.Group(r.APIVersion)
	if clusterWide, custom := scopes[[2]string{r.ID.Group, r.ID.Kind}]; custom && clusterWide ||
		!custom && kind.IsClusterScoped(r.ID.Group, r.ID.Kind) {
		return
	}
	r.ID.Namespace = cmp.Or(field.String(metadata, "namespace"), namespace)
}

// readDefinitions sets b.definitions, and marks the resources whose kind the release itself
// defines as SelfDefined.
func (b *builder) readDefinitions() {
	b.definitions = map[[2]string]ID{}
	for i := range b.resources {
		r := &b.resources[i]
		if r.ID.Kind == "CustomResourceDefinition" {
			spec := field.Map(r.object, "spec")
			b.definitions[[2]string{field.String(spec, "group"), field.String(field.Map(spec, "names"), "kind")}] = r.ID
		}
	}
	for i := range b.resources {
		r := &b.resources[i]
		_, r.SelfDefined = b.definitions[[2]string{r.ID.Group, r.ID.Kind}]
	}
}

// customScopes returns, for each group and kind that a CustomResourceDefinition of the
// release defines, whether it is cluster-scoped.
func customScopes(in []Resource) map[[2]string]bool {
	scopes := map[[2]string]bool{}
	for _, r := range in {
		if field.String(r.Object, "kind") == "CustomResourceDefinition" {
			spec := field.Map(r.Object, "spec")
			scopes[[2]string{field.String(spec, "group"), field.String(field.Map(spec, "names"), "kind")}] = field.String(spec, "scope") == "Cluster"
		}
	}
	return scopes
}

// readAnnotations sets the fields of r that come from its annotations. If the chart is not
// sequenced, it notes only whether there are sequencing annotations, for a warning.
func (r *resource) readAnnotations(sequenced bool) error {
	metadata := field.Map(r.object, "metadata")
	annotations := field.Map(metadata, "annotations")
	if misplaced, is := metadata["runHooksInParallel"]; is {
		return &annotation.ValueError{
			Key: "metadata.runHooksInParallel", Value: misplaced, Problem: annotation.Misplaced,
			Reason: "has no effect in a template: move runHooksInParallel into Chart.yaml",
		}
	}
	if !sequenced {
		for key := range annotations {
			r.declares = r.declares || annotation.IsSequencingKey(key)
		}
		return nil
	}
	order, err := annotation.ReadResource(annotations)
	if mistaken := checkKeys(annotations); mistaken != nil {
		err = errors.Join(mistaken, err)
	}
	r.order, r.declares = order, order.Declares()
	r.Success, r.Failure, r.Timeout = order.Success, order.Failure, order.Timeout
	return err
}

// splitErrors returns the individual errors of an error that errors.Join created.
func splitErrors(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, splitErrors(e)...)
	}
	return all
}

// duplicates returns an error for each object that two documents define, and sets b.byID.
// It skips objects whose name the server generates.
func (b *builder) duplicates() []error {
	first := make(map[ID]int, len(b.resources))
	var problems []error
	for i, r := range b.resources {
		if r.ID.Name == "" {
			continue
		}
		if j, seen := first[r.ID]; seen {
			problems = append(problems, &DuplicateError{ID: r.ID, First: b.resources[j].File, Second: r.File})
			continue
		}
		first[r.ID] = i
	}
	b.byID = first
	return problems
}

func compareResources(a, b *resource) int {
	return cmp.Or(
		cmp.Compare(a.rank, b.rank),
		cmp.Compare(a.ID.Kind, b.ID.Kind),
		cmp.Compare(a.ID.Name, b.ID.Name),
		cmp.Compare(a.ID.Namespace, b.ID.Namespace),
		cmp.Compare(a.ID.Group, b.ID.Group),
	)
}
