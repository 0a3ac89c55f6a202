// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/go-multierror"

	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/objectwriter"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/text"
)

// rejectedError adds to an error of the server the resources that were not created, because
// the error often does not name them.
type rejectedError struct {
	// resources are kinds and names, as in "Deployment/db".
	resources []string
	err       error
}

func (e *rejectedError) Error() string { return e.err.Error() }

func (e *rejectedError) Unwrap() error { return e.err }

// Failures converts err, the error of ApplyNode for the node n, to one failure for each
// error that the server returned. namespace is the namespace of the release. events has the
// redactor for the contents of Secrets.
func Failures(ctx context.Context, n *sequencer.Node, err error, namespace string, events *event.Sink) failure.Resources {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		f := &failure.Resource{Node: n.ID(), Title: n.Title(), State: failure.NotApplied, Err: err}
		f.Interrupt(context.Cause(ctx), "applied")
		return failure.Resources{f}
	}
	var failures failure.Resources
	for _, r := range rejections(n, err) {
		f := &failure.Resource{
			Node: n.ID(), Title: n.Title(), State: failure.NotApplied, Reason: failure.NotApplied,
			Message: text.OneLine(r.answer.Error()), Err: r.answer, Outcome: "could not be applied",
		}
		if res := r.resource; res != nil {
			f.Resource, f.Namespace, f.File = res.ID.String(), res.ID.Namespace, res.File
			f.InNamespace(namespace)
		}
		failures = append(failures, f)
	}
	slices.SortStableFunc(failures, func(a, b *failure.Resource) int { return cmp.Compare(a.Resource, b.Resource) })
	failure.RedactResources(events.Redactor(), failures) // before a summary truncates them
	return failures
}

// rejection is an error that the server returned for a resource. The resource is nil if it
// is not known which resource of the node the error is about.
type rejection struct {
	resource *sequencer.PlannedResource
	answer   error
}

// rejections splits err, the error of ApplyNode for the node n, into the errors that the
// server returned.
func rejections(n *sequencer.Node, err error) []rejection {
	var list []rejection
	var applied *objectwriter.ApplyError
	if errors.As(err, &applied) {
		for _, failed := range applied.Failures {
			list = append(list, rejection{resource: findResource(n, object.IDOf(failed.Info)), answer: failed.Err})
		}
		return list
	}
	answers := []error{err}
	var several *multierror.Error
	if errors.As(err, &several) {
		answers = several.Errors
	}
	var rejected *rejectedError
	errors.As(err, &rejected)
	for _, answer := range answers {
		list = append(list, rejection{resource: rejected.find(n, answer, len(answers)), answer: answer})
	}
	return list
}

// findResource returns the resource of a node with the given identity; nil if there is
// none. An identity without a namespace matches any namespace.
func findResource(n *sequencer.Node, id sequencer.ID) *sequencer.PlannedResource {
	for _, res := range n.Resources {
		found := res.ID
		if id.Namespace == "" {
			found.Namespace = ""
		}
		if found == id {
			return res
		}
	}
	return nil
}

// find returns the resource of n that an error of the server is about: the only candidate
// if there is only one error, or else the only candidate whose name the error contains. It
// returns nil if this is ambiguous. The candidates are e.resources, or all resources of n
// if e is nil. answers is the number of errors.
func (e *rejectedError) find(n *sequencer.Node, answer error, answers int) *sequencer.PlannedResource {
	var candidates []*sequencer.PlannedResource
	for _, res := range n.Resources {
		if e == nil || slices.Contains(e.resources, res.ID.String()) {
			candidates = append(candidates, res)
		}
	}
	if len(candidates) == 1 && answers == 1 {
		return candidates[0]
	}
	var named *sequencer.PlannedResource
	for _, res := range candidates {
		if strings.Contains(answer.Error(), strconv.Quote(res.ID.Name)) {
			if named != nil {
				return nil // two resources have this name, so the error is ambiguous
			}
			named = res
		}
	}
	return named
}
