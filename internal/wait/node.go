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

// errOtherFailure is the error of resources that were not ready when the wait for them was
// stopped because of another failure.
var errOtherFailure = errors.New("another resource failed")

// nodeState is the readiness of one node.
type nodeState struct {
	node *sequencer.Node
	// objects are the objects that the operation waits for. group observes them.
	objects []*objectState
	group   *watcher.Group
	// applied is the time at which all objects were written.
	applied time.Time
	// leaf says whether the operation waits for the node in the background, because it has
	// no dependents. unready is the number of its objects that are not ready.
	leaf    bool
	unready atomic.Int64
}

// objectState is the readiness of one object.
type objectState struct {
	node     *sequencer.Node
	resource *sequencer.PlannedResource
	info     *object.Info
	// report is the last report. err is nil if the object was ready.
	report watcher.Report
	err    *watcher.NotReadyError
	// waited is the time that the operation waited for the object.
	waited time.Duration
}

// isReady reports whether all objects are ready.
func (s *nodeState) isReady() bool {
	return !slices.ContainsFunc(s.objects, func(o *objectState) bool { return o.err != nil })
}

// failedObjects lists the objects that are not ready, except those that the operation stopped
// waiting for.
func (s *nodeState) failedObjects() []*objectState {
	var failed []*objectState
	for _, o := range s.objects {
		if o.err != nil && !errors.Is(o.err, errOtherFailure) {
			failed = append(failed, o)
		}
	}
	return failed
}

// summarize describes the first of several objects, and tells how many more there are.
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

// readyCount counts which of several objects are ready.
type readyCount struct {
	total, ready int
	isReady      map[string]bool
}

func newReadyCount(total int) *readyCount {
	return &readyCount{total: total, isReady: make(map[string]bool, total)}
}

// update counts a report. It returns true if this report made all objects ready.
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
