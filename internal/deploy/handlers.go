// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"cmp"
	"context"

	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/lifecycle"
	"github.com/ordered-helm/helm/internal/text"
)

// awaitHandlers waits until the handlers of the event wait are done, if the run waits at all, and then calls
// those of the event ready.
func (r *Run) awaitHandlers(ctx context.Context) error {
	w := lifecycle.WaitOptions{Timeout: r.options.Timeout, OnPending: r.reportPending("")}
	switch {
	case r.IsOrdered(): // ctx has the timeout of the operation
		w.Timeout = 0
	case !r.options.Wait:
		return nil
	default:
		r.phase = Waiting
	}
	if err := r.options.Lifecycle.Await(ctx, w); err != nil {
		return err
	}
	return r.options.Lifecycle.Emit(ctx, lifecycle.Ready)
}

// reportPending returns a function that reports for which charts the operation waits, at a node, because
// their handlers of the event wait are not done.
func (r *Run) reportPending(node string) func(charts []string) {
	return func(charts []string) {
		names := make([]string, len(charts))
		for i, chart := range charts {
			names[i] = cmp.Or(chart, "this program")
		}
		r.emit(event.Event{Type: event.HandlerWaiting, Node: node, Message: "waiting for handlers of " + text.List(names, len(names))})
	}
}
