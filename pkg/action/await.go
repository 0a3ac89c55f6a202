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

// errElsewhere ends the waiting for what is not ready when something else has
// failed.
var errElsewhere = errors.New("something else failed")

// await follows the readiness of one object.
type await struct {
	node     *sequencer.Node
	resource *sequencer.PlannedResource
	group    *readiness.Group
	applied  time.Time
	// rest is whether nothing depends on the object's node.
	rest bool
	// report is the last one; err is nil if the object was ready. waited is for
	// how long it was waited for.
	report readiness.Report
	err    *readiness.NotReadyError
	waited time.Duration
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
		res := s.node.Resources[i]
		rules := readiness.Rules{Success: res.Success, Failure: res.Failure}
		s.awaits = append(s.awaits, &await{
			node: s.node, resource: res,
			group: tracker.Expect(readiness.Target{
				GVR: info.Mapping.Resource, GVK: info.Mapping.GroupVersionKind,
				Namespace: info.Namespace, Name: info.Name, Evaluate: rules.Over(tracker.Evaluate),
			}),
		})
	}
	return nil
}

// track makes the operation's tracker the first time that one is needed.
func (r *rollout) track(ctx context.Context) (*readiness.Tracker, error) {
	r.trackerOnce.Do(func() {
		r.tracker, r.trackerErr = newTracker(ctx, r.cluster, r.events.notice)
	})
	return r.tracker, r.trackerErr
}

// newTracker follows objects until it is closed, and tells of trouble with that.
func newTracker(ctx context.Context, c *cluster.Client, notify func(readiness.Notice)) (*readiness.Tracker, error) {
	client, err := c.Dynamic()
	if err != nil {
		return nil, err
	}
	return readiness.NewTracker(context.WithoutCancel(ctx), readiness.Config{Client: client, Notify: notify}), nil
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
	var waiting sync.WaitGroup
	for _, a := range s.awaits {
		waiting.Go(func() { r.awaitOne(ctx, a, r.within(a.resource)) })
	}
	waiting.Wait()
	for _, a := range s.awaits {
		if res := a.resource; a.err == nil && len(res.Success) == 0 && a.report.Object != nil && !readiness.HasReadiness(a.report.Object) {
			r.events.warn(fmt.Sprintf("%s: %s counted as ready at once, because its kind has no Ready condition: "+
				"what depends on it may start too early; give it the annotation %s", res.File, res.ID, annotation.ReadinessSuccess))
		}
	}
	if failures, _ := r.failures(s.awaits); len(failures) > 0 {
		return failures
	}
	return nil
}

// within is how long a resource may take on which others depend.
func (r *rollout) within(res *sequencer.PlannedResource) time.Duration {
	if res.Timeout > 0 {
		return res.Timeout
	}
	return r.limits.readiness
}

// followRest begins to wait, beside whatever else goes on, for a node that
// nothing depends on: Jobs only where they were asked for. What becomes of it
// counts in awaitRest, or when something else fails.
func (r *rollout) followRest(ctx context.Context, s *slice) {
	for _, a := range s.awaits {
		if a.resource.IsJob() && !r.jobs {
			a.group.Release()
			continue
		}
		a.rest = true
		ctx, end := context.WithCancelCause(ctx)
		r.resting.add(end)
		r.resting.done.Go(func() {
			defer end(nil)
			r.awaitOne(ctx, a, a.resource.Timeout)
			if a.err != nil {
				r.resting.fail()
			}
		})
	}
}

// resting is the waiting for what nothing depends on, which goes on beside the
// deployment of nodes.
type resting struct {
	done sync.WaitGroup
	// failed is closed when something that was waited for was not ready.
	failed   chan struct{}
	failOnce sync.Once

	mu   sync.Mutex
	ends []context.CancelCauseFunc
}

func newResting() *resting { return &resting{failed: make(chan struct{})} }

func (r *resting) fail() { r.failOnce.Do(func() { close(r.failed) }) }

// hasFailed reports whether something was not ready.
func (r *resting) hasFailed() bool {
	select {
	case <-r.failed:
		return true
	default:
		return false
	}
}

func (r *resting) add(end context.CancelCauseFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ends = append(r.ends, end)
}

// stop ends the waiting and returns when nothing of it goes on.
func (r *resting) stop(cause error) {
	r.mu.Lock()
	for _, end := range r.ends {
		end(cause)
	}
	r.mu.Unlock()
	r.done.Wait()
}

// wait returns when everything is ready, or something is not.
func (r *resting) wait() {
	over := make(chan struct{})
	go func() { r.done.Wait(); close(over) }()
	select {
	case <-over:
	case <-r.failed:
		r.stop(errElsewhere)
		<-over
	}
}

// rest lists, in the order of the plan, what is waited for although nothing
// depends on it.
func (r *rollout) rest() []*await {
	var rest []*await
	for _, n := range r.plan.Nodes {
		for _, a := range r.slices[n].awaits {
			if a.rest {
				rest = append(rest, a)
			}
		}
	}
	return rest
}

// awaitRest waits for what nothing depends on, all together. When something of
// it fails, the waiting for the others is over too.
func (r *rollout) awaitRest(ctx context.Context) error {
	rest := r.rest()
	if len(rest) > 0 {
		r.events.emit(Event{Type: EventWaiting, Message: "all nodes are applied; waiting until the rest is ready: " + counted(len(rest), "resource")})
	}
	r.resting.wait()
	failures, unfinished := r.failures(rest)
	if len(failures) == 0 {
		return nil
	}
	return &DeployError{Resources: failures, Unfinished: unfinished, cause: context.Cause(ctx)}
}

// awaitOne waits for one object, for as long as limit says from the moment it
// was applied; 0 is no limit of its own.
func (r *rollout) awaitOne(ctx context.Context, a *await, limit time.Duration) {
	a.group.Within(readiness.Limit{Within: limit, Since: a.applied})
	peeks := r.peek(ctx, a)
	defer peeks.stop()
	reports, err := a.group.Wait(ctx, func(report readiness.Report) {
		peeks.saw(report)
		r.changed(a, progress(report.Status))
	})
	a.report, a.waited = reports[0], time.Since(a.applied)
	if err != nil && !errors.As(err, &a.err) {
		a.err = &readiness.NotReadyError{Reports: reports, Cause: err}
	}
}

// changed reports how a resource stands.
func (r *rollout) changed(a *await, message string) {
	r.events.emit(Event{Type: EventResourceChanged, Node: a.node.ID(), Resource: a.resource.ID.String(), Message: message})
}

func progress(s readiness.Status) string {
	if s.Message == "" || s.State == readiness.Ready {
		return string(s.State)
	}
	return fmt.Sprintf("%s: %s", s.State, s.Message)
}
