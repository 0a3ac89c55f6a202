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

// draftResource is a resource while Build computes the plan.
type draftResource struct {
	PlannedResource
	chart *draftChart
	node  *draftNode
	index int // in builder.resources
	rank  int // the position of its kind in Helm's install order
	order annotation.ResourceSequencing
}

// groupKind identifies a kind.
type groupKind struct{ group, kind string }

func (id ID) groupKind() groupKind { return groupKind{id.Group, id.Kind} }

// readResources sets b.resources. It replaces each List with its items, determines the IDs
// of the objects and reads their annotations. It returns all errors joined.
func (b *builder) readResources(in Input) error {
	numbered := slices.Clone(in.Resources)
	for i := range numbered {
		numbered[i].source = i
	}
	flat := flatten(numbered)
	scopes := customScopes(flat)
	b.resources = make([]*draftResource, 0, len(flat))
	var problems []error
	for _, r := range flat {
		chart := b.byPath[r.Chart]
		if chart == nil {
			problems = append(problems, fmt.Errorf("%s: belongs to chart %q, which is not part of the release", r.File, r.Chart))
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
	slices.SortStableFunc(b.resources, func(x, y *draftResource) int {
		return cmp.Or(cmp.Compare(x.chart.index, y.chart.index), compareResources(x, y))
	})
	for i, r := range b.resources {
		r.index = i
	}
	b.findCRDs()
	problems = append(problems, b.findDuplicates()...)
	return errors.Join(problems...)
}

// newResource returns r with its ID. namespace is the namespace of the release, and scopes
// the result of customScopes.
func newResource(r Resource, namespace string, scopes map[groupKind]bool) *draftResource {
	res := &draftResource{PlannedResource: PlannedResource{
		File: r.File, Policy: cmp.Or(policyOf(r.Object), r.policy), Source: r.source, object: r.Object,
	}}
	res.identify(namespace, scopes)
	res.rank = kind.InstallRank(res.ID.Kind)
	return res
}

// flatten replaces each List with its items. Lists can be nested.
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

func (r *draftResource) identify(namespace string, scopes map[groupKind]bool) {
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

// findCRDs sets b.crds, and marks the resources of kinds that the release itself defines
// as SelfDefined.
func (b *builder) findCRDs() {
	b.crds = map[groupKind]ID{}
	for _, r := range b.resources {
		if defined, _, isCRD := kindDefinedBy(r.object); isCRD {
			b.crds[defined] = r.ID
		}
	}
	for _, r := range b.resources {
		_, r.SelfDefined = b.crds[r.ID.groupKind()]
	}
}

// kindDefinedBy returns the kind that a CustomResourceDefinition defines, and whether this
// kind is cluster-scoped. isCRD reports whether object is a CustomResourceDefinition.
func kindDefinedBy(object map[string]any) (defined groupKind, clusterScoped, isCRD bool) {
	if field.String(object, "kind") != "CustomResourceDefinition" {
		return groupKind{}, false, false
	}
	spec := field.Map(object, "spec")
	return groupKind{field.String(spec, "group"), field.String(spec, "names", "kind")}, field.String(spec, "scope") == "Cluster", true
}

// customScopes returns, for each kind that a CustomResourceDefinition in the list defines,
// whether it is cluster-scoped.
func customScopes(in []Resource) map[groupKind]bool {
	scopes := map[groupKind]bool{}
	for _, r := range in {
		if defined, clusterScoped, isCRD := kindDefinedBy(r.Object); isCRD {
			scopes[defined] = clusterScoped
		}
	}
	return scopes
}

// readAnnotations sets the fields of r that its annotations declare. If the declared order
// of the chart does not apply, it only records in r.chart.ignored whether there are such
// annotations.
func (r *draftResource) readAnnotations() error {
	metadata := field.Map(r.object, "metadata")
	annotations := field.Map(metadata, "annotations")
	if misplaced, is := metadata["runHooksInParallel"]; is {
		return &annotation.ValueError{
			Key: "metadata.runHooksInParallel", Value: misplaced, Kind: annotation.Misplaced,
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
	r.order, err = annotation.ReadResourceSequencing(annotations)
	r.Success, r.Failure, r.Timeout = r.order.Success, r.order.Failure, r.order.Timeout
	return errors.Join(annotation.CheckKeys(annotations), err)
}

// splitErrors returns the individual errors that errors.Join combined, also if they were
// joined repeatedly.
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

// findDuplicates sets b.byID, and returns an error for each object that two documents
// define. It ignores objects whose names the server generates.
func (b *builder) findDuplicates() []error {
	b.byID = make(map[ID]*draftResource, len(b.resources))
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

// compareResources defines the order of Node.Resources.
func compareResources(x, y *draftResource) int {
	return cmp.Or(
		cmp.Compare(x.rank, y.rank),
		strings.Compare(x.ID.Kind, y.ID.Kind),
		strings.Compare(x.ID.Name, y.ID.Name),
		strings.Compare(x.ID.Namespace, y.ID.Namespace),
		strings.Compare(x.ID.Group, y.ID.Group),
		strings.Compare(x.File, y.File),
	)
}
