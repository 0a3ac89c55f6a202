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
	"github.com/ordered-helm/helm/internal/objectid"
	"github.com/ordered-helm/helm/internal/resourceorder"
)

// draftResource is a resource while Build computes the plan.
type draftResource struct {
	PlannedResource
	chart *draftChart
	node  *draftNode
	index int // in builder.resources
	rank  int // the position of its kind in Helm's install order
	order resourceorder.Order
	// external lists the external dependencies of the resource.
	external []externalDeclaration
}

// declaring returns the argument of methods of resourceorder.Reader for r.
func (r *draftResource) declaring() resourceorder.Resource {
	return resourceorder.Resource{Chart: r.chart.TreeChart, File: r.File, ID: r.ID, Object: r.object}
}

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
		var err error
		res.order, err = b.reader.Read(res.declaring())
		res.Success, res.Failure, res.Timeout, res.DeployOn = res.order.Success, res.order.Failure, res.order.Timeout, res.order.DeployOn
		chart.ignored = chart.ignored || res.order.Ignored
		problems = append(problems, err, b.dependencies.Add(len(res.order.DependsOn), r.File))
		if b.dependencies.Exceeded() {
			res.order.DependsOn = nil
		}
		b.resources = append(b.resources, res)
	}
	// The plan must not depend on the order of the input.
	slices.SortStableFunc(b.resources, func(x, y *draftResource) int {
		return cmp.Or(cmp.Compare(x.chart.Index, y.chart.Index), compareResources(x, y))
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
func newResource(r Resource, namespace string, scopes objectid.Scopes) *draftResource {
	res := &draftResource{PlannedResource: PlannedResource{
		ID: scopes.Identify(r.Object, namespace), File: r.File, APIVersion: field.String(r.Object, "apiVersion"),
		Policy: cmp.Or(policyOf(r.Object), r.policy), Source: r.source, object: r.Object,
	}}
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

// findCRDs sets b.crds, and marks the resources of kinds that the release itself defines
// as SelfDefined.
func (b *builder) findCRDs() {
	b.crds = map[objectid.GroupKind]ID{}
	for _, r := range b.resources {
		if defined, _, isCRD := objectid.Definition(r.object); isCRD {
			b.crds[defined] = r.ID
		}
	}
	for _, r := range b.resources {
		_, r.SelfDefined = b.crds[objectid.GroupKindOf(r.ID)]
	}
}

// customScopes returns the scopes of the kinds that the resources in the list define.
func customScopes(in []Resource) objectid.Scopes {
	scopes := objectid.Scopes{}
	for _, r := range in {
		scopes.Add(r.Object)
	}
	return scopes
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
