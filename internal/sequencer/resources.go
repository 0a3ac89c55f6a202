// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/field"
	"github.com/ordered-helm/helm/internal/kind"
)

// resource is a resource while the plan is built.
type resource struct {
	PlannedResource
	chart *draftChart
	node  *draftNode
	index int // in builder.resources
	rank  int // the position of its kind in Helm's install order
	order annotation.Resource
}

// groupKind is a kind with its API group.
type groupKind struct{ group, kind string }

func (id ID) groupKind() groupKind { return groupKind{id.Group, id.Kind} }

// readResources sets b.resources. It replaces each List with its items, identifies the
// objects and reads their annotations. It returns all errors together.
func (b *builder) readResources(in Input) error {
	numbered := slices.Clone(in.Resources)
	for i := range numbered {
		numbered[i].source = i
	}
	flat := flatten(numbered)
	scopes := customScopes(flat)
	var problems []error
	for _, r := range flat {
		chart := b.byPath[r.Chart]
		if chart == nil {
			problems = append(problems, fmt.Errorf("%s: comes from chart %q, which the release does not have", r.File, r.Chart))
			continue
		}
		res := newResource(r, in.Namespace, scopes)
		res.chart = chart
		for _, err := range splitErrors(res.readAnnotations()) {
			problems = append(problems, &ResourceError{File: r.File, ID: res.ID, Err: err})
		}
		problems = append(problems, b.dependencies.add(len(res.order.DependsOn), r.File))
		if b.dependencies.exceeded() {
			res.order.DependsOn = nil
		}
		b.resources = append(b.resources, res)
	}
	// The plan must not depend on the order of the input.
	slices.SortStableFunc(b.resources, func(x, y *resource) int {
		return cmp.Or(cmp.Compare(x.chart.index, y.chart.index), compareResources(x, y))
	})
	for i, r := range b.resources {
		r.index = i
	}
	b.readDefinitions()
	problems = append(problems, b.duplicates()...)
	return errors.Join(problems...)
}

// newResource returns r with its ID. namespace is that of the release. scopes is the result
// of customScopes.
func newResource(r Resource, namespace string, scopes map[groupKind]bool) *resource {
	res := &resource{PlannedResource: PlannedResource{
		File: r.File, Policy: cmp.Or(policyOf(r.Object), r.policy), Source: r.source, object: r.Object,
	}}
	res.identify(namespace, scopes)
	res.rank = kind.InstallRank(res.ID.Kind)
	return res
}

// flatten replaces each List with its items, also if Lists are nested.
func flatten(in []Resource) []Resource {
	out := make([]Resource, 0, len(in))
	for _, r := range in {
		items, isList := kind.ListItems(r.Object)
		if !isList {
			out = append(out, r)
			continue
		}
		inner := make([]Resource, len(items))
		for i, item := range items {
			inner[i] = Resource{Chart: r.Chart, File: r.File, Object: item, policy: cmp.Or(policyOf(r.Object), r.policy), source: r.source}
		}
		out = append(out, flatten(inner)...)
	}
	return out
}

func policyOf(object map[string]any) string {
	return field.String(field.Map(object, "metadata", "annotations"), annotation.ResourcePolicy)
}

func (r *resource) identify(namespace string, scopes map[groupKind]bool) {
	metadata := field.Map(r.object, "metadata")
	r.APIVersion = field.String(r.object, "apiVersion")
	r.ID.Kind, r.ID.Name = field.String(r.object, "kind"), field.String(metadata, "name")
	r.ID.Group = kind.Group(r.APIVersion)
	clusterScoped, custom := scopes[r.ID.groupKind()]
	if !custom {
		clusterScoped = kind.IsClusterScoped(r.ID.Group, r.ID.Kind)
	}
	if !clusterScoped {
		r.ID.Namespace = cmp.Or(field.String(metadata, "namespace"), namespace)
	}
}

// readDefinitions sets b.definitions, and marks the resources whose kind the release itself
// defines as SelfDefined.
func (b *builder) readDefinitions() {
	b.definitions = map[groupKind]ID{}
	for _, r := range b.resources {
		if defined, _, is := definedKind(r.object); is {
			b.definitions[defined] = r.ID
		}
	}
	for _, r := range b.resources {
		_, r.SelfDefined = b.definitions[r.ID.groupKind()]
	}
}

// definedKind returns the kind that a CustomResourceDefinition defines, and whether this
// kind is cluster-scoped. is reports whether object is a CustomResourceDefinition.
func definedKind(object map[string]any) (defined groupKind, clusterScoped, is bool) {
	if field.String(object, "kind") != "CustomResourceDefinition" {
		return groupKind{}, false, false
	}
	spec := field.Map(object, "spec")
	return groupKind{field.String(spec, "group"), field.String(spec, "names", "kind")}, field.String(spec, "scope") == "Cluster", true
}

// customScopes returns, for each kind that a CustomResourceDefinition of the release
// defines, whether it is cluster-scoped.
func customScopes(in []Resource) map[groupKind]bool {
	scopes := map[groupKind]bool{}
	for _, r := range in {
		if defined, clusterScoped, is := definedKind(r.Object); is {
			scopes[defined] = clusterScoped
		}
	}
	return scopes
}

// readAnnotations sets the fields of r that come from its annotations. If the chart is not
// sequenced, it notes only whether there are sequencing annotations, for a warning.
func (r *resource) readAnnotations() error {
	metadata := field.Map(r.object, "metadata")
	annotations := field.Map(metadata, "annotations")
	if misplaced, is := metadata["runHooksInParallel"]; is {
		return &annotation.ValueError{
			Key: "metadata.runHooksInParallel", Value: misplaced, Problem: annotation.Misplaced,
			Reason: "has no effect in a template: move runHooksInParallel into Chart.yaml",
		}
	}
	if !r.chart.Sequenced {
		for key := range annotations {
			r.chart.ignored = r.chart.ignored || annotation.IsSequencingKey(key)
		}
		return nil
	}
	var err error
	r.order, err = annotation.ReadResource(annotations)
	r.Success, r.Failure, r.Timeout = r.order.Success, r.order.Failure, r.order.Timeout
	return errors.Join(annotation.CheckKeys(annotations), err)
}

// splitErrors returns the individual errors of an error that errors.Join created.
func splitErrors(err error) []error {
	joined, isJoined := err.(interface{ Unwrap() []error })
	switch {
	case err == nil:
		return nil
	case !isJoined:
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
	b.byID = make(map[ID]*resource, len(b.resources))
	var problems []error
	for _, r := range b.resources {
		if first := b.byID[r.ID]; first != nil {
			problems = append(problems, &DuplicateError{ID: r.ID, First: first.File, Second: r.File})
		} else if r.ID.Name != "" {
			b.byID[r.ID] = r
		}
	}
	return problems
}

// compareResources sorts resources in the order in which a node deploys them.
func compareResources(x, y *resource) int {
	return cmp.Or(
		cmp.Compare(x.rank, y.rank),
		strings.Compare(x.ID.Kind, y.ID.Kind),
		strings.Compare(x.ID.Name, y.ID.Name),
		strings.Compare(x.ID.Namespace, y.ID.Namespace),
		strings.Compare(x.ID.Group, y.ID.Group),
		strings.Compare(x.File, y.File),
	)
}
