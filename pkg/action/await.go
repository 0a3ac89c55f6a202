// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/pkg/sequencer"
)

// kubeInfo is an object with its REST mapping.
type kubeInfo = resource.Info

// await follows the readiness of one object.
type await struct {
	resource *sequencer.PlannedResource
	group    *readiness.Group
	applied  time.Time
	// rest is whether nothing depends on the object's node; err is then what
	// waiting for it came to.
	rest bool
	err  error
}

// follow begins to note what becomes of the node's objects, before they are
// written.
func (r *rollout) follow(ctx context.Context, s *slice) error {
	if !r.cluster.Real() {
		return nil
	}
	tracker, err := r.track(ctx)
	if err != nil {
		return err
	}
	for i, info := range s.list {
		gvk := info.Mapping.GroupVersionKind
		s.awaits = append(s.awaits, &await{
			resource: s.node.Resources[i],
			group: tracker.Expect(readiness.Target{
				GVR: info.Mapping.Resource, GVK: gvk, Namespace: info.Namespace, Name: info.Name,
			}),
		})
	}
	return nil
}

// track makes the operation's tracker the first time that one is needed.
func (r *rollout) track(ctx context.Context) (*readiness.Tracker, error) {
	r.trackerOnce.Do(func() {
		r.tracker, r.trackerErr = newTracker(ctx, r.cluster, r.events)
	})
	return r.tracker, r.trackerErr
}

// newTracker follows objects until it is closed, and tells of trouble with that.
func newTracker(ctx context.Context, c *cluster.Client, e *events) (*readiness.Tracker, error) {
	client, err := c.Dynamic()
	if err != nil {
		return nil, err
	}
	return readiness.NewTracker(context.WithoutCancel(ctx), readiness.Config{
		Client: client, Notify: func(n readiness.Notice) { e.warn(n.String()) },
	}), nil
}

// applied tells the groups which versions were written.
func (s *slice) applied() error {
	now := time.Now()
	for i, a := range s.awaits {
		a.applied = now
		object, ok := s.list[i].Object.(*unstructured.Unstructured)
		if !ok {
			return fmt.Errorf("%s: the server returned an object of type %T", a.resource.ID, s.list[i].Object)
		}
		if err := a.group.Applied(object); err != nil {
			return err
		}
	}
	return nil
}

// awaitNode waits until every object of a node is ready, each for as long as
// its own timeout allows.
func (r *rollout) awaitNode(ctx context.Context, s *slice) error {
	return awaitAll(s.awaits, func(a *await) error {
		limit := a.resource.Timeout
		if limit == 0 {
			limit = r.limits.readiness
		}
		report, err := r.awaitOne(ctx, s.node, a, limit)
		if err == nil && report.Object != nil && !readiness.HasReadiness(report.Object) {
			r.events.warn(fmt.Sprintf("%s: %s counted as ready at once, because its kind has no Ready condition: "+
				"what depends on it may start too early", a.resource.File, a.resource.ID))
		}
		return err
	})
}

// followRest begins to wait, beside whatever else goes on, for a node that
// nothing depends on: Jobs only where they were asked for. What becomes of it
// counts in awaitRest.
func (r *rollout) followRest(ctx context.Context, s *slice) {
	for _, a := range s.awaits {
		if a.resource.IsJob() && !r.jobs {
			a.group.Release()
			continue
		}
		a.rest = true
		r.resting.Go(func() { _, a.err = r.awaitOne(ctx, s.node, a, a.resource.Timeout) })
	}
}

// awaitRest waits for what nothing depends on, all together, and returns what
// of it failed, in the order of the plan.
func (r *rollout) awaitRest() error {
	var rest []*await
	for _, n := range r.plan.Nodes {
		for _, a := range r.slices[n].awaits {
			if a.rest {
				rest = append(rest, a)
			}
		}
	}
	if len(rest) > 0 {
		r.events.emit(Event{Type: EventWaiting, Message: "all nodes are applied; waiting until the rest is ready: " + counted(len(rest), "resource")})
	}
	r.resting.Wait()
	errs := make([]error, len(rest))
	for i, a := range rest {
		errs[i] = a.err
	}
	return errors.Join(errs...)
}

// failedRest ends the waiting for what nothing depends on, and returns what of
// it has failed for good by now.
func (r *rollout) failedRest() error {
	r.stop()
	r.resting.Wait()
	var errs []error
	for _, n := range r.plan.Nodes {
		for _, a := range r.slices[n].awaits {
			if errors.Is(a.err, readiness.ErrFailed) {
				errs = append(errs, a.err)
			}
		}
	}
	return errors.Join(errs...)
}

// awaitAll waits for all at once and returns what failed, in their order.
func awaitAll(list []*await, wait func(*await) error) error {
	errs := make([]error, len(list))
	var waiting sync.WaitGroup
	for i, a := range list {
		waiting.Go(func() { errs[i] = wait(a) })
	}
	waiting.Wait()
	return errors.Join(errs...)
}

// awaitOne waits for one object, for as long as limit says from the moment it
// was applied; 0 is no limit of its own.
func (r *rollout) awaitOne(ctx context.Context, n *sequencer.Node, a *await, limit time.Duration) (readiness.Report, error) {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, a.applied.Add(limit), fmt.Errorf(
			"not ready within %s (the annotation %s or --readiness-timeout would give it more time)", limit, annotation.ReadinessTimeout))
		defer cancel()
	}
	reports, err := a.group.Wait(ctx, func(report readiness.Report) {
		r.events.emit(Event{
			Type: EventResourceChanged, Node: n.ID(), Resource: a.resource.ID.String(),
			Message: progress(report.Status),
		})
	})
	return reports[0], err
}

func progress(s readiness.Status) string {
	if s.Message == "" || s.State == readiness.Ready {
		return string(s.State)
	}
	return fmt.Sprintf("%s: %s", s.State, s.Message)
}
