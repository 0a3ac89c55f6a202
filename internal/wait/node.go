// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/watcher"
)

// errOtherFailure is the cause with which the waits for other resources are stopped after
// one resource has failed.
var errOtherFailure = errors.New("another resource failed")

// nodeState has the state of the wait for one node of the plan.
type nodeState struct {
	node *sequencer.Node
	// objects are the objects of the node that the operation waits for. group observes
	// them.
	objects []*objectState
	group   *watcher.Group
	// applied is the time at which all objects of the node had been written; zero before.
	applied time.Time
	// leaf says whether the operation waits for the node in the background, because it has
	// no dependents. unready is the number of its objects that are not ready.
	leaf    bool
	unready atomic.Int64
}

// objectState is one object that the operation waits for, and the result of the wait. The
// fields from report on are set when the wait for its node ends.
type objectState struct {
	node     *sequencer.Node
	resource *sequencer.PlannedResource
	info     *object.Info
	// report is the last report on the object. err is nil if the object became ready.
	report watcher.Report
	err    *watcher.NotReadyError
	// waited is the time from the write of the node to the end of the wait.
	waited time.Duration
}

// isReady reports whether all objects of the node became ready. It is called after the
// wait.
func (s *nodeState) isReady() bool {
	return !slices.ContainsFunc(s.objects, func(o *objectState) bool { return o.err != nil })
}

// failedObjects returns the objects that did not become ready. It omits objects that the
// operation stopped waiting for because of another failure.
func (s *nodeState) failedObjects() []*objectState {
	var failed []*objectState
	for _, o := range s.objects {
		if o.err != nil && !errors.Is(o.err, errOtherFailure) {
			failed = append(failed, o)
		}
	}
	return failed
}

// summarize returns one line for an event: why the first failed object is not ready, and
// how many others failed.
func summarize(failed []*objectState) string {
	text := failed[0].resource.ID.String() + " is not ready"
	if why := failed[0].report.Status.Message; why != "" {
		text += ": " + why
	}
	if more := len(failed) - 1; more > 0 {
		text += fmt.Sprintf("; nor are %d more", more)
	}
	return text
}

// readyCount counts the ready objects of a node. isReady has their names, as in
// Target.String().
type readyCount struct {
	total, ready int
	isReady      map[string]bool
}

func newReadyCount(total int) *readyCount {
	return &readyCount{total: total, isReady: make(map[string]bool, total)}
}

// update counts the new state of an object. It returns true if this was the last of the
// objects to become ready.
func (c *readyCount) update(report watcher.Report) bool {
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
