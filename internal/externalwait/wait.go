// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package externalwait

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/ordered-helm/helm/internal/externalneed"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/watcher"
)

// finalLookTimeout limits the last look at the needs after a timeout.
const finalLookTimeout = 2 * time.Second

// errNotNamespaced reports that a need names the namespace of a cluster-scoped object.
var errNotNamespaced = errors.New("is cluster-scoped: remove the namespace")

// Wait waits until all needs are there and ready at the same time. timeout, from which the time is
// subtracted in which the API server does not respond, limits the wait; 0 means that only ctx does.
// The error is an *UnmetError with the status of each need that is not ready. The wait ends at once
// if one of them has failed for good or may not be read. When Wait returns, nothing that it started
// is running, except for the shared watches.
func (w *Waiter) Wait(ctx context.Context, needs []externalneed.Need, timeout time.Duration) error {
	c := newWait(w, unique(needs))
	limited, end := w.limit(ctx, timeout)
	defer end()
	for {
		waited, err := c.round(limited)
		switch {
		case err == nil && !waited:
			return nil
		case err != nil && errors.Is(err, context.DeadlineExceeded) && c.isReadyAfterAll(ctx):
			return nil
		case err != nil:
			return c.unmet(err)
		}
	}
}

// waitState is one call of Wait.
type waitState struct {
	waiter *Waiter
	start  time.Time
	needs  []externalneed.Need

	// mu guards the fields below.
	mu       sync.Mutex
	statuses []Status // in the order of needs
	waited   bool     // whether a need was not ready in the current round
}

func newWait(w *Waiter, needs []externalneed.Need) *waitState {
	c := &waitState{waiter: w, start: time.Now(), needs: needs, statuses: make([]Status, len(needs))}
	for i, n := range needs {
		c.statuses[i] = Status{Need: n, Namespace: w.namespaceOf(n), State: readiness.InProgress, Reason: "NotRead", Message: "not read yet"}
	}
	return c
}

// round looks at all needs, and waits until each has been ready once. waited says whether one of them
// was not ready at first. Only a round in which none was shows that all are ready at the same time.
func (c *waitState) round(ctx context.Context) (waited bool, err error) {
	c.mu.Lock()
	c.waited = false
	c.mu.Unlock()
	running, ctx := errgroup.WithContext(ctx)
	for i, n := range c.needs {
		if n.Release {
			running.Go(func() error { return c.waiter.awaitRelease(ctx, n, func(s Status) { c.set(i, s) }) })
		}
	}
	for _, indexes := range c.byKind() {
		running.Go(func() error { return c.awaitObjects(ctx, indexes) })
	}
	err = running.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waited, err
}

// byKind returns the indexes of the objects, those of the same kind together.
func (c *waitState) byKind() [][]int {
	var parts [][]int
	positions := map[string]int{}
	for i, n := range c.needs {
		if n.Release {
			continue
		}
		kind := n.KindAndGroup()
		position, found := positions[kind]
		if !found {
			position = len(parts)
			positions[kind], parts = position, append(parts, nil)
		}
		parts[position] = append(parts[position], i)
	}
	return parts
}

// set records the status of the need with an index, and reports it if it has changed.
func (c *waitState) set(i int, s Status) {
	c.mu.Lock()
	changed := !c.statuses[i].same(s)
	c.statuses[i] = s
	c.waited = c.waited || s.State != readiness.Ready
	c.mu.Unlock()
	if report := c.waiter.config.Report; changed && report != nil {
		c.waiter.reports.Lock()
		defer c.waiter.reports.Unlock()
		report(s)
	}
}

// awaitObjects waits until each of the objects with the given indexes, which are of the same kind,
// has been ready once.
func (c *waitState) awaitObjects(ctx context.Context, indexes []int) error {
	if c.waiter.config.Cluster == nil {
		for _, i := range indexes {
			c.set(i, Status{Need: c.needs[i], Namespace: c.waiter.namespaceOf(c.needs[i]), State: readiness.Ready})
		}
		return nil
	}
	mapping, err := c.waiter.awaitKind(ctx, c.needs[indexes[0]], func(err error) { c.setKindProblem(indexes, err) })
	if err != nil {
		if isAmbiguous(err) {
			c.setKindProblem(indexes, err)
		}
		return err
	}
	targets := make([]watcher.Target, len(indexes))
	index := make(map[string]int, len(indexes))
	for j, i := range indexes {
		if targets[j], err = c.waiter.target(c.needs[i], mapping); err != nil {
			c.set(i, Status{Need: c.needs[i], State: readiness.InProgress, Reason: reasonInvalid, Message: c.needs[i].Kind + " " + err.Error()})
			return err
		}
		index[targets[j].String()] = i
	}
	return c.awaitTargets(ctx, targets, index)
}

// setKindProblem records that the kind of the needs with the given indexes cannot be found.
func (c *waitState) setKindProblem(indexes []int, err error) {
	for _, i := range indexes {
		c.set(i, c.waiter.kindProblem(c.needs[i], err))
	}
}

// kindProblem returns the status of a need whose kind cannot be found, because of err.
func (w *Waiter) kindProblem(n externalneed.Need, err error) Status {
	s := Status{Need: n, Namespace: w.namespaceOf(n), State: readiness.InProgress, Reason: reasonUnreadable, Message: err.Error()}
	switch {
	case errors.Is(err, errUnknownKind):
		s.State, s.Reason = readiness.Missing, reasonUnknownKind
		s.Message = fmt.Sprintf("the cluster does not serve the kind %s; is its CustomResourceDefinition missing?", n.KindAndGroup())
	case isAmbiguous(err):
		s.Reason = reasonInvalid
	}
	return s
}

// target returns the Target of a need.
func (w *Waiter) target(n externalneed.Need, mapping *meta.RESTMapping) (watcher.Target, error) {
	t := watcher.Target{GVR: mapping.Resource, GVK: mapping.GroupVersionKind, Name: n.Name}
	switch {
	case mapping.Scope.Name() == meta.RESTScopeNameNamespace:
		t.Namespace = w.namespaceOf(n)
	case n.Namespace != "":
		return t, errNotNamespaced
	}
	return t, nil
}

// awaitTargets waits until the targets are ready. index contains the index of the need of each
// target, by Target.String().
func (c *waitState) awaitTargets(ctx context.Context, targets []watcher.Target, index map[string]int) error {
	shared, err := c.waiter.sharedWatcher(ctx)
	if err != nil {
		return err
	}
	reports, err := shared.ObserveReady(targets...).Wait(ctx, func(r watcher.Report) { c.setReport(index, r) })
	for _, r := range reports {
		c.setReport(index, r)
	}
	notReady, _ := errors.AsType[*watcher.NotReadyError](err)
	switch forbidden, isForbidden := errors.AsType[*watcher.ForbiddenError](err); {
	case isForbidden:
		return deniedBy(forbidden)
	case errors.Is(err, watcher.ErrClosed):
		return ErrClosed
	case notReady != nil:
		return notReady.Cause
	}
	return err
}

// setReport records the report on a target.
func (c *waitState) setReport(index map[string]int, r watcher.Report) {
	i := index[r.Target.String()]
	c.set(i, statusOf(c.needs[i], r))
}

// statusOf returns the status of a need from the report on its object.
func statusOf(n externalneed.Need, r watcher.Report) Status {
	s := Status{Need: n, Namespace: r.Target.Namespace, State: r.Status.State, Reason: r.Status.Reason, Message: r.Status.Message, report: r}
	forbidden, isForbidden := errors.AsType[*watcher.ForbiddenError](r.Forbidden)
	switch {
	case isForbidden:
		s.Denied = deniedBy(forbidden)
		s.State, s.Reason, s.Message = readiness.InProgress, reasonForbidden, s.Denied.Error()
	case r.ObserveError != nil && s.State != readiness.Ready:
		s.Message += "; it currently cannot be observed: " + r.ObserveError.Error()
	}
	return s
}

func deniedBy(e *watcher.ForbiddenError) *PermissionError {
	return &PermissionError{Verb: e.Verb, Resource: e.Resource, Namespace: e.Namespace, Verbs: []string{"get", "list", "watch"}, Err: e.Err}
}

// isReadyAfterAll looks at the needs a last time after a timeout, because a watch may not have
// delivered the latest version of an object.
func (c *waitState) isReadyAfterAll(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finalLookTimeout)
	defer cancel()
	statuses, err := c.waiter.Check(ctx, c.needs)
	if err != nil {
		return false
	}
	ready := true
	for i, s := range statuses {
		c.set(i, s)
		ready = ready && s.State == readiness.Ready
	}
	return ready
}

// unmet returns the error of a wait that ended because of err. Nothing else may be running.
func (c *waitState) unmet(err error) *UnmetError {
	e := &UnmetError{Waited: time.Since(c.start), Cause: err, namespace: c.waiter.config.Namespace}
	for _, s := range c.statuses {
		if s.State != readiness.Ready {
			e.Unmet = append(e.Unmet, s)
		}
	}
	c.waiter.explain(e.Unmet)
	return e
}
