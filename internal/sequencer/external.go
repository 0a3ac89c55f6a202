// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/ordered-helm/helm/internal/chartorder"
	"github.com/ordered-helm/helm/internal/externalneed"
	"github.com/ordered-helm/helm/internal/ordererror"
)

// External is an external dependency: an object or a release outside of the release.
type External struct {
	Need externalneed.Need
	// Reasons lists the declarations of the dependency, at least one.
	Reasons []Reason
}

// externalDeclaration is one declaration of an external dependency.
type externalDeclaration struct {
	need    externalneed.Need
	timeout time.Duration
	reason  Reason
}

// readExternal sets the external dependencies of charts and resources.
func (b *builder) readExternal() error {
	var problems []error
	for _, c := range b.charts {
		problems = append(problems, b.addExternal(&c.external, c.External))
	}
	for _, r := range b.resources {
		problems = append(problems, b.addExternal(&r.external, r.order.ExternalDeclarations))
	}
	return errors.Join(problems...)
}

// addExternal adds declarations to list. It returns an error for each that is no external dependency, or
// whose object is part of the release.
func (b *builder) addExternal(list *[]externalDeclaration, declared []chartorder.External) error {
	var problems []error
	for _, d := range declared {
		need, err := externalneed.Parse(d.Need)
		if err == nil {
			err = b.checkNotOwn(need)
		}
		if err != nil {
			problems = append(problems, &ordererror.ExternalError{File: d.Reason.File, Resource: d.Reason.Resource, Key: d.Reason.Key, Value: d.Need, Err: err})
			continue
		}
		problems = append(problems, b.dependencies.Add(1, d.Reason.File))
		if !b.dependencies.Exceeded() {
			*list = append(*list, externalDeclaration{need, d.Timeout, d.Reason})
		}
	}
	return errors.Join(problems...)
}

// checkNotOwn returns an error if an external dependency is an object of the release.
func (b *builder) checkNotOwn(n externalneed.Need) error {
	if n.Release {
		return nil
	}
	if b.byName == nil {
		b.byName = map[[2]string][]*draftResource{}
		for _, r := range b.resources {
			key := [2]string{r.ID.Kind, r.ID.Name}
			b.byName[key] = append(b.byName[key], r)
		}
	}
	for _, r := range b.byName[[2]string{n.Kind, n.Name}] {
		isGroup := n.Group == "" || n.Group == r.ID.Group
		if isGroup && (r.ID.Namespace == cmp.Or(n.Namespace, b.input.Namespace) || r.ID.Namespace == "" && n.Namespace == "") {
			return &ordererror.OwnObjectError{File: r.File}
		}
	}
	return nil
}

// makeExternalSteps creates the steps that wait for external dependencies: for each chart and each node, one step for
// the dependencies with the same timeout.
func (b *builder) makeExternalSteps() {
	if b.input.Operation == Uninstall || b.input.IgnoreExternal {
		return
	}
	for _, c := range b.charts {
		c.externalSteps = b.addExternalSteps(c.external, Step{Chart: c.Path}, nil)
	}
	for _, n := range b.nodes {
		var declared []externalDeclaration
		for _, r := range n.resources {
			if b.input.takesPart(&r.PlannedResource) {
				declared = append(declared, r.external...)
			}
		}
		n.externalSteps = b.addExternalSteps(declared, Step{Chart: n.chart.Path}, n)
	}
}

func (b *builder) addExternalSteps(declared []externalDeclaration, step Step, n *draftNode) []*Step {
	slices.SortStableFunc(declared, func(x, y externalDeclaration) int {
		return cmp.Or(cmp.Compare(x.timeout, y.timeout), cmp.Compare(x.need.String(), y.need.String()), x.reason.Compare(y.reason))
	})
	var steps []*Step
	for i, d := range declared {
		if i == 0 || declared[i-1].timeout != d.timeout {
			s := step
			s.Timeout, s.waiting, s.number = d.timeout, n, len(steps)
			steps = append(steps, b.addStep(&s))
		}
		s := steps[len(steps)-1]
		if last := len(s.External) - 1; last >= 0 && s.External[last].Need == d.need {
			s.External[last].Reasons = append(s.External[last].Reasons, d.reason)
			continue
		}
		s.External = append(s.External, External{d.need, []Reason{d.reason}})
	}
	return steps
}

// connectExternalSteps makes each chart and node with external dependencies wait for them. The wait begins when
// everything else on which it depends is ready.
func (b *builder) connectExternalSteps() {
	for _, c := range b.charts {
		b.insertBefore(c.beforeAll, c.externalSteps)
	}
	for _, n := range b.nodes {
		b.insertBefore(n.vertex, n.externalSteps)
	}
	b.graph.Normalize()
}

// insertBefore makes steps depend on all that the vertex depends on, and the vertex on the steps.
func (b *builder) insertBefore(vertex int, steps []*Step) {
	before := slices.Clone(b.graph.Dependencies(vertex))
	for _, s := range steps {
		for _, v := range before {
			b.graph.AddEdge(s.vertex, v)
		}
		b.graph.AddEdge(vertex, s.vertex)
	}
}
