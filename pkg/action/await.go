// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/watcher"
)

// kubeInfo is an object with its REST mapping.
type kubeInfo = resource.Info

// failTogether is how long others may take to fail after the first has: what
// fails for one reason is reported together.
const failTogether = 500 * time.Millisecond

// errElsewhere ends the waiting for what is not ready when something else has
// failed.
var errElsewhere = errors.New("something else failed")

// await is one object whose readiness is waited for.
type await struct {
	node     *sequencer.Node
	resource *sequencer.PlannedResource
	info     *kubeInfo
	// report is the last one; err is nil if the object was ready. waited is for
	// how long it was waited for.
	report watcher.Report
	err    *watcher.NotReadyError
	waited time.Duration
}

// follow begins to note what becomes of the node's objects, before they are
// written. Jobs on which nothing depends count only where they were asked for.
func (r *rollout) follow(ctx context.Context, s *slice) error {
	if !r.cluster.Real() {
		return nil
	}
	tracker, err := r.track(ctx)
	if err != nil {
		return err
	}
	var targets []watcher.Target
	for i, info := range s.list {
		res := s.node.Resources[i]
		if !s.node.Awaited && res.IsJob() && !r.jobs {
			continue
		}
		rules := readiness.Expressions{Success: res.Success, Failure: res.Failure}
		s.awaits = append(s.awaits, &await{node: s.node, resource: res, info: info})
		targets = append(targets, watcher.Target{
			GVR: info.Mapping.Resource, GVK: info.Mapping.GroupVersionKind, Namespace: scopeOf(info), Name: info.Name,
			Timeout: r.within(s.node, res), Evaluate: r.judge(info, rules.Evaluator(tracker.Evaluate)),
		})
	}
	s.group = tracker.ExpectReady(targets...)
	return nil
}

// within is how long a resource may take: what nothing depends on has until the
// end of the operation, unless it says otherwise itself.
func (r *rollout) within(n *sequencer.Node, res *sequencer.PlannedResource) time.Duration {
	if res.Timeout > 0 || !n.Awaited {
		return res.Timeout
	}
	return r.limits.readiness
}

// track makes the operation's tracker the first time that one is needed.
func (r *rollout) track(ctx context.Context) (*watcher.Watcher, error) {
	r.trackerOnce.Do(func() {
		r.tracker, r.trackerErr = newTracker(ctx, r.cluster, r.events.notice)
	})
	return r.tracker, r.trackerErr
}

// newTracker follows objects until it is closed, and tells of trouble with that.
func newTracker(ctx context.Context, c *cluster.Client, notify func(watcher.Notice)) (*watcher.Watcher, error) {
	client, err := c.Observer()
	if err != nil {
		return nil, err
	}
	return watcher.New(context.WithoutCancel(ctx), watcher.Config{Client: client, Notify: notify}), nil
}

// wasApplied notes that a node was written, and tells its group which versions
// that were.
func (r *rollout) wasApplied(s *slice) error {
	r.mu.Lock()
	s.applied = time.Now()
	r.mu.Unlock()
	var list kube.ResourceList
	for _, a := range s.awaits {
		list = append(list, a.info)
	}
	return applied(s.group, list)
}

// applied tells a group which versions of its objects were written.
func applied(group *watcher.Group, list kube.ResourceList) error {
	for _, info := range list {
		object, ok := info.Object.(*unstructured.Unstructured)
		if !ok {
			return fmt.Errorf("%s: the server returned an object of type %T", describe(info), info.Object)
		}
		if err := group.Applied(object); err != nil {
			return err
		}
	}
	return nil
}

// awaitNode waits until all objects of a node are ready, each for as long as
// its own timeout allows.
func (r *rollout) awaitNode(ctx context.Context, s *slice) error {
	if !r.cluster.Real() {
		return r.cluster.PlayWait(s.list, r.limits.readiness, true)
	}
	r.awaitSlice(ctx, s, nil)
	for _, a := range s.awaits {
		if res := a.resource; a.err == nil && len(res.Success) == 0 && a.report.Object != nil && !readiness.ReportsReadiness(a.report.Object) {
			r.events.warn(fmt.Sprintf("%s: %s counted as ready at once, because its kind has no Ready condition: "+
				"what depends on it may start too early; give it the annotation %s", res.File, res.ID, annotation.ReadinessSuccess))
		}
	}
	if failures, _ := r.failures(ctx, s.awaits); len(failures) > 0 {
		return failures
	}
	return nil
}

// awaitSlice waits for the objects of a node, which must not end well before
// hold is closed, if there is one.
func (r *rollout) awaitSlice(ctx context.Context, s *slice, hold <-chan struct{}) {
	s.group.SetOptions(watcher.Options{Start: s.applied, WaitForAll: true, StayReadyUntil: hold})
	peeks := r.peek(ctx, s)
	defer peeks.stop()
	standing := newStanding(len(s.awaits))
	reports, err := s.group.Wait(ctx, func(report watcher.Report) {
		if peeks.saw(report) {
			r.changed(s, report, "")
		}
		last := standing.becomesReady(report)
		s.unready.Store(int64(standing.all - standing.ready))
		if last && s.rest { // else that is told where it is waited for
			r.events.emit(Event{Type: EventNodeReady, Node: s.node.ID()})
		}
	})
	waited := time.Since(s.applied)
	var late *watcher.NotReadyError
	if err != nil && !errors.As(err, &late) {
		late = &watcher.NotReadyError{Reports: reports, Cause: err}
	}
	for i, a := range s.awaits {
		a.report, a.waited = reports[i], waited
		if err != nil && (a.report.Status.State != readiness.Ready || a.report.TimedOutAfter > 0) {
			a.err = late
		}
	}
}

// followRest begins to wait, beside whatever else goes on, for a node that
// nothing depends on. What becomes of it counts in awaitRest, or when something
// else fails; it must still be ready when all nodes are applied.
func (r *rollout) followRest(ctx context.Context, s *slice) {
	if len(s.awaits) == 0 {
		return
	}
	s.rest = true
	s.unready.Store(int64(len(s.awaits)))
	ctx, end := context.WithCancelCause(ctx)
	r.resting.add(end)
	r.resting.done.Go(func() {
		defer end(nil)
		r.awaitSlice(ctx, s, r.resting.applied)
		if s.isReady() {
			r.ledger.done(s.node.ID())
		}
		if failed := s.failed(); len(failed) > 0 {
			r.events.emit(Event{Type: EventNodeFailed, Node: s.node.ID(), Message: shortly(failed)})
			r.resting.fail()
		}
	})
}

// isReady reports whether everything that was waited for is ready.
func (s *slice) isReady() bool {
	return !slices.ContainsFunc(s.awaits, func(a *await) bool { return a.err != nil })
}

// failed lists what was not ready, unless that was not waited for any more.
func (s *slice) failed() []*await {
	var failed []*await
	for _, a := range s.awaits {
		if a.err != nil && !errors.Is(a.err, errElsewhere) {
			failed = append(failed, a)
		}
	}
	return failed
}

// shortly says of the first of several resources how it stands, and how many more
// there are.
func shortly(failed []*await) string {
	text := failed[0].resource.ID.String() + " is not ready"
	if why := failed[0].report.Status.Message; why != "" {
		text += ": " + why
	}
	if more := len(failed) - 1; more > 0 {
		text += fmt.Sprintf("; nor are %d more", more)
	}
	return text
}

// resting is the waiting for what nothing depends on, which goes on beside the
// deployment of nodes.
type resting struct {
	done sync.WaitGroup
	// failed is closed when something that was waited for was not ready.
	failed   chan struct{}
	failOnce sync.Once
	// applied is closed when all nodes are applied.
	applied chan struct{}

	mu   sync.Mutex
	ends []context.CancelCauseFunc
}

func newResting() *resting {
	return &resting{failed: make(chan struct{}), applied: make(chan struct{})}
}

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

// wait returns when everything is ready, or something is not. It is called once,
// when all nodes are applied.
func (r *resting) wait() {
	close(r.applied)
	over := make(chan struct{})
	go func() { r.done.Wait(); close(over) }()
	select {
	case <-over:
		return
	case <-r.failed:
	}
	together := time.NewTimer(failTogether)
	defer together.Stop()
	select {
	case <-over:
	case <-together.C:
		r.stop(errElsewhere)
		<-over
	}
}

// rest lists, in the order of the plan, what is waited for although nothing
// depends on it.
func (r *rollout) rest() []*await {
	var rest []*await
	for _, n := range r.plan.Nodes {
		if s := r.slices[n]; s.rest {
			rest = append(rest, s.awaits...)
		}
	}
	return rest
}

// unready counts what of the rest is not ready at this moment.
func (r *rollout) unready() int {
	unready := 0
	for _, s := range r.slices {
		if s.rest {
			unready += int(s.unready.Load())
		}
	}
	return unready
}

// awaitRest waits for what nothing depends on, all together. When something of
// it fails, the waiting for the others is over too.
func (r *rollout) awaitRest(ctx context.Context) error {
	if !r.cluster.Real() {
		return r.cluster.PlayWait(r.all, r.limits.operation, r.jobs)
	}
	rest := r.rest()
	if unready := r.unready(); unready > 0 {
		r.events.emit(Event{Type: EventWaiting, Message: "all nodes are applied; waiting until the rest is ready: " + counted(unready, "resource"), Resources: unready})
	}
	r.resting.wait()
	failures, unfinished := r.failures(ctx, rest)
	if len(failures) == 0 {
		return nil
	}
	return &DeployError{Resources: failures, Unfinished: unfinished, cause: context.Cause(ctx)}
}

// changed reports how a resource stands, and why if that is known.
func (r *rollout) changed(s *slice, report watcher.Report, cause string) {
	e := changeOf(report, s.node.ID(), r.namespace)
	e.Cause = cause
	switch within := report.Target.Timeout; {
	case report.Status.State == readiness.Ready:
	case within > 0:
		e.Deadline = s.applied.Add(within + report.Unobserved)
	case r.about != nil:
		e.Deadline = r.about.Deadline
	}
	r.events.emit(e)
}

// standing counts which of several objects are ready.
type standing struct {
	all, ready int
	isReady    map[string]bool
}

func newStanding(all int) *standing { return &standing{all: all, isReady: make(map[string]bool, all)} }

// becomesReady notes a report. It reports whether it is by this one that all are
// ready.
func (s *standing) becomesReady(report watcher.Report) bool {
	name, ready := report.Target.String(), report.Status.State == readiness.Ready
	if s.isReady[name] == ready {
		return false
	}
	s.isReady[name] = ready
	if !ready {
		s.ready--
		return false
	}
	s.ready++
	return s.ready == s.all
}

// changeOf is the event of what became of an object of a node.
func changeOf(report watcher.Report, node, namespace string) Event {
	e := Event{
		Type: EventResourceChanged, Node: node, Resource: report.Target.GVK.Kind + "/" + report.Target.Name,
		State: string(report.Status.State), Message: progress(report.Status),
	}
	if report.Target.Namespace != namespace {
		e.Namespace = report.Target.Namespace
	}
	return e
}

func progress(s readiness.Status) string {
	if s.Message == "" || s.State == readiness.Ready {
		return string(s.State)
	}
	return fmt.Sprintf("%s: %s", s.State, s.Message)
}
