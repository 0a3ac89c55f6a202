// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package event

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/lifecycle"
)

// HandlerProgress returns a function that emits the progress of handlers that take long. node is the ID of the
// node whose successors wait for them; it can be empty.
func (s *Sink) HandlerProgress(node string) func(lifecycle.Progress) {
	return func(p lifecycle.Progress) {
		e := Event{Type: HandlerRunning, Node: node, HandlerEvent: string(p.Event), Chart: p.Chart, Since: p.Start}
		switch {
		case p.Done:
			e.Type, e.Err = HandlerDone, s.handlerError(p)
		case p.Event == lifecycle.Wait:
			e.Message = "waiting for handlers of " + HandlerOwner(p.Chart)
		default:
			e.Message = fmt.Sprintf("waiting for the %s handler of %s", p.Event, HandlerOwner(p.Chart))
		}
		s.Emit(e)
	}
}

// errHandler replaces the error of a handler that may contain what will be in a Secret.
var errHandler = errors.New("the handler failed")

// handlerError returns the error of a handler without details, which the error of the operation has. While a
// chart is rendered, the contents of its Secrets are not known yet.
func (s *Sink) handlerError(p lifecycle.Progress) error {
	rendering := []lifecycle.Event{lifecycle.ChartLoaded, lifecycle.PreRender, lifecycle.PostRender}
	switch {
	case p.Err == nil:
		return nil
	case s.Redactor() == nil || slices.Contains(rendering, p.Event):
		return errHandler
	}
	return errors.New(failure.Description(p.Err))
}

// HandlerOwner returns the name of the owner of a handler: the path of a chart or, if it is empty, this
// program.
func HandlerOwner(chart string) string { return cmp.Or(chart, "this program") }
