// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/waitlimit"
	"github.com/ordered-helm/helm/internal/watcher"
)

// nodeState tracks the wait for one node of the deployment graph.
type nodeState struct {
	node *sequencer.Node
	// objects are the objects of the node for which the operation waits. group watches them.
	objects []*objectState
	group   *watcher.TargetGroup
	// applied is the time when the last object of the node was written; zero before that.
	applied time.Time
	// leaf is true if the operation waits for the node in the background, because the node
	// has no dependents. unready counts the objects of the node that are not ready.
	leaf    bool
	unready atomic.Int64
}

// objectState holds one object for which the operation waits, and the result of the wait.
// The fields report, err and waited are set when the wait for the node ends.
type objectState struct {
	node     *sequencer.Node
	resource *sequencer.PlannedResource
	info     *object.Info
	// report is the last report on the object. err is the error of the wait for the node;
	// it is nil if this object became ready.
	report watcher.Report
	err    *watcher.NotReadyError
	// waited is the time from nodeState.applied to the end of the wait.
	waited time.Duration
}

// isUnfinished reports whether the operation stopped waiting for the object only because another
// resource had failed. ctx is the context of the operation.
func (o *objectState) isUnfinished(ctx context.Context) bool {
	if o.err == nil || o.report.Status.State == readiness.Failed || o.report.Forbidden != nil || ctx.Err() != nil {
		return false
	}
	if o.report.TimedOut != nil {
		return errors.Is(o.report.TimedOut, waitlimit.ErrOtherFailure)
	}
	return errors.Is(o.err, waitlimit.ErrOtherFailure)
}

// isReady reports whether all objects of the node became ready. It must only be called after
// the wait has ended.
func (s *nodeState) isReady() bool {
	return !slices.ContainsFunc(s.objects, func(o *objectState) bool { return o.err != nil })
}

// failedObjects returns the objects that did not become ready, except those for which the
// operation stopped waiting because of another failure.
func (s *nodeState) failedObjects() []*objectState {
	var failed []*objectState
	for _, o := range s.objects {
		if o.err != nil && !errors.Is(o.err, waitlimit.ErrOtherFailure) {
			failed = append(failed, o)
		}
	}
	return failed
}

// summarize returns the message of an event, in one line: why the first failed object is not
// ready, and how many others failed.
func summarize(failed []*objectState) string {
	text := failed[0].resource.ID.String() + " is not ready"
	if why := failed[0].report.Status.Message; why != "" {
		text += ": " + why
	}
	if more := len(failed) - 1; more > 0 {
		text += fmt.Sprintf("; %d more not ready", more)
	}
	return text
}

// readyCounter counts the ready objects of a node. isReady says for each object whether it is
// ready, by Target.String().
type readyCounter struct {
	total, ready int
	isReady      map[string]bool
}

func newReadyCounter(total int) *readyCounter {
	return &readyCounter{total: total, isReady: make(map[string]bool, total)}
}

// update records the new state of an object. It reports whether the object has just become
// ready as the last one of the node.
func (c *readyCounter) update(report watcher.Report) bool {
	name, ready := report.Target.String(), report.Status.State == readiness.Ready
	if c.isReady[name] == ready {
		return false
	}
	c.isReady[name] = ready
	if !ready {
		c.ready--
		return false
	}
	c.ready++
	return c.ready == c.total
}
