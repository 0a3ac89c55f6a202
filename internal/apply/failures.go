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
)

// notCreatedError wraps an error of the server, and names the resources that were not created.
// The error itself often does not name them.
type notCreatedError struct {
	// resources contains kinds and names, as in "Deployment/db".
	resources []string
	err       error
}

func (e *notCreatedError) Error() string { return e.err.Error() }

func (e *notCreatedError) Unwrap() error { return e.err }

// Failures splits err, with which ApplyNode failed for node n, into one failure for each
// error of the server. namespace is the namespace of the release. events redacts the
// contents of Secrets.
func Failures(ctx context.Context, n *sequencer.Node, err error, namespace string, events *event.Sink) failure.Resources {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		f := &failure.Resource{Node: n.ID(), Title: n.Title(), State: failure.NotApplied, Err: err}
		f.SetInterrupted(context.Cause(ctx), "applied")
		return failure.Resources{f}
	}
	var failures failure.Resources
	for _, r := range rejections(n, err) {
		message, remedy := failure.DescribeRejection(r.response)
		f := &failure.Resource{
			Node: n.ID(), Title: n.Title(), State: failure.NotApplied, Reason: failure.NotApplied,
			Message: message, Remedy: remedy, Err: r.response, Outcome: "could not be applied",
		}
		if res := r.resource; res != nil {
			f.Resource, f.Namespace, f.File = res.ID.String(), res.ID.Namespace, res.File
			f.SetReleaseNamespace(namespace)
		}
		failures = append(failures, f)
	}
	slices.SortStableFunc(failures, func(a, b *failure.Resource) int { return cmp.Compare(a.Resource, b.Resource) })
	failure.RedactResources(events.Redactor(), failures) // before a summary truncates them
	return failures
}

// rejection is an error of the server, and the resource that the error is about; nil if that
// is not known.
type rejection struct {
	resource *sequencer.PlannedResource
	response error
}

// rejections splits err, with which ApplyNode failed for node n, into the errors of the
// server.
func rejections(n *sequencer.Node, err error) []rejection {
	var list []rejection
	var applied *objectwriter.ApplyError
	if errors.As(err, &applied) {
		for _, failed := range applied.Failures {
			list = append(list, rejection{resource: findResource(n, object.IDOf(failed.Info)), response: failed.Err})
		}
		return list
	}
	responses := []error{err}
	var several *multierror.Error
	if errors.As(err, &several) {
		responses = several.Errors
	}
	var rejected *notCreatedError
	errors.As(err, &rejected)
	for _, response := range responses {
		list = append(list, rejection{resource: rejected.find(n, response, len(responses)), response: response})
	}
	return list
}

// findResource returns the resource of node n that id identifies, or nil. If id has no
// namespace, the namespace of the resource does not matter.
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

// find returns the resource of n that response, an error of the server, is about; nil if
// this is ambiguous. The candidates are e.resources, or all resources of n if e is nil. If
// there is only one candidate and only one error, the error is about this candidate.
// Otherwise, find returns the only candidate whose name response contains. responses is
// the number of errors.
func (e *notCreatedError) find(n *sequencer.Node, response error, responses int) *sequencer.PlannedResource {
	var candidates []*sequencer.PlannedResource
	for _, res := range n.Resources {
		if e == nil || slices.Contains(e.resources, res.ID.String()) {
			candidates = append(candidates, res)
		}
	}
	if len(candidates) == 1 && responses == 1 {
		return candidates[0]
	}
	var named *sequencer.PlannedResource
	for _, res := range candidates {
		if strings.Contains(response.Error(), strconv.Quote(res.ID.Name)) {
			if named != nil {
				return nil // two resources have this name, so the error is ambiguous
			}
			named = res
		}
	}
	return named
}
