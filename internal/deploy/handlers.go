// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"context"

	"github.com/ordered-helm/helm/internal/lifecycle"
)

// awaitHandlers waits until the handlers of the event wait are done, if the run waits at all, and then calls
// those of the event ready.
func (r *Run) awaitHandlers(ctx context.Context) error {
	w := lifecycle.WaitOptions{Timeout: r.options.Timeout, Observe: r.op.Events.HandlerProgress("")}
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
