// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/execute"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/podrestart"
	"github.com/ordered-helm/helm/internal/podwatch"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/text"
	"github.com/ordered-helm/helm/internal/waitlimit"
	"github.com/ordered-helm/helm/internal/watcher"
)

// Timeouts holds the limits that the user sets for an operation with --timeout and
// --readiness-timeout.
type Timeouts struct {
	// Operation limits the whole operation; 0 means no limit.
	Operation time.Duration
	// Readiness limits the wait for each resource whose node has dependents, unless the
	// resource declares another timeout; 0 if the user has not set it.
	Readiness time.Duration
	// Standstill is how long such a resource can stand still if neither the user nor the
	// resource sets a timeout.
	Standstill time.Duration
}

// NodeWaiter waits until the nodes of a deployment graph are ready. For each node, the caller
// calls Follow, writes the objects, calls Applied, and then calls Await, or AwaitLeaf if the
// node has no dependents. After it has written all nodes, it calls AwaitLeaves. Several
// goroutines can do this for different nodes at the same time.
type NodeWaiter interface {
	// Follow prepares to watch the objects of a node. The caller must call it before it
	// writes the objects, so that no change is missed. list contains the object of each
	// resource in n.Resources, in the same order.
	Follow(ctx context.Context, n *sequencer.Node, list kube.ResourceList) error
	// Applied records that the objects of a node were written. states contains the objects
	// as the server returned them.
	Applied(n *sequencer.Node, states object.LiveObjects) error
	// Await waits until all objects of a node are ready at the same time. Each object has
	// its own limit; those of a node on which no other node depends have the limits of a leaf. The error is a failure.Resources or an *UnfinishedError.
	Await(ctx context.Context, n *sequencer.Node) error
	// AwaitLeaf starts to wait in the background for a leaf: a node without dependents. It
	// reports whether the leaf has objects to wait for. If the leaf fails, AwaitLeaves
	// returns the failure, or DeployError if another node fails first. The leaf must still
	// be ready after all nodes have been written.
	AwaitLeaf(ctx context.Context, n *sequencer.Node) bool
	// AwaitLeaves waits until all leaves are ready. When one of them fails, the wait for
	// the others ends, too. all contains the objects of all nodes.
	AwaitLeaves(ctx context.Context, all kube.ResourceList) error
	// CheckLeaves returns an error if a leaf has failed. The caller must then not start any
	// other node.
	CheckLeaves() error
	// AwaitPodsGone waits until the given pods, which the caller has deleted, no longer
	// exist.
	AwaitPodsGone(ctx context.Context, pods []object.PodRef) error
	// RecordFailure records that a node has failed. Resources for which nobody has set a
	// timeout are then waited for only a little longer.
	RecordFailure()
	// DeployError stops the waits for leaves, and returns the error of the operation. err is
	// the error of executing the plan; it contains the nodes that failed or did not start.
	DeployError(ctx context.Context, err *execute.Error) *failure.DeployError
	// Close stops the waits that are still running in the background, and the watches.
	Close()
}

// NodeWaiterConfig holds the parameters of Waiter.NewNodeWaiter.
type NodeWaiterConfig struct {
	// Plan contains the nodes: it is the deployment graph of the release.
	Plan     *sequencer.Plan
	Timeouts Timeouts
	// Jobs says whether to wait for Jobs in leaves.
	Jobs bool
	// HasEnded, if not nil, says that an object is a Job that had already ended. The
	// operation does not wait for such Jobs in leaves. live is the state that the server
	// returned when the object was written.
	HasEnded func(info, live *object.Info) bool
	// Namespace is the namespace of the release.
	Namespace string
	// Deadline is the time at which the operation times out; zero if there is no limit.
	Deadline time.Time
	// Restarted, if not nil, tells which workloads this operation restarted by deleting
	// their pods.
	Restarted podrestart.Func
	// IsUnchanged reports whether the operation did not change an object, because the object
	// already was as declared.
	IsUnchanged func(*object.Info) bool
	// Done is called when a leaf is ready.
	Done func(*sequencer.Node)
}

// NewNodeWaiter implements Waiter.
func (w *watchingWaiter) NewNodeWaiter(c NodeWaiterConfig) NodeWaiter {
	n := &watchingNodeWaiter{
		NodeWaiterConfig: c, watchingWaiter: w, states: make(map[*sequencer.Node]*nodeState, len(c.Plan.Nodes)),
		leaves: newLeafWaits(), failure: &waitlimit.FirstFailure{}, diagnosed: make(chan struct{}, maxDiagnosed),
	}
	for _, node := range c.Plan.Nodes {
		n.states[node] = &nodeState{node: node}
	}
	n.explainer = w.newExplainer(n.notApplied)
	return n
}

// watchingNodeWaiter is the NodeWaiter that watches the objects in a cluster.
type watchingNodeWaiter struct {
	NodeWaiterConfig
	*watchingWaiter
	states    map[*sequencer.Node]*nodeState
	leaves    *leafWaits
	failure   *waitlimit.FirstFailure
	explainer *Explainer
	// diagnosed is a semaphore that limits the periodic diagnoses of all nodes to
	// maxDiagnosed objects.
	diagnosed chan struct{}

	// watcher watches the objects of all nodes. sharedWatcher creates it.
	// pods watches the pods of resources that stand still.
	watcherOnce sync.Once
	watcher     *watcher.Watcher
	pods        *podwatch.Watcher
	watcherErr  error

	// mu guards nodeState.applied of all nodes.
	mu sync.Mutex
}

// sharedWatcher returns the Watcher for all nodes. The first call creates it.
func (w *watchingNodeWaiter) sharedWatcher(ctx context.Context) (*watcher.Watcher, error) {
	w.watcherOnce.Do(func() {
		if w.watcher, w.watcherErr = newWatcher(ctx, w.cluster, w.events.Notice); w.watcherErr == nil {
			w.pods, w.watcherErr = newPodWatcher(ctx, w.cluster)
		}
	})
	return w.watcher, w.watcherErr
}

// Follow implements NodeWaiter. It skips the Jobs of a leaf unless Jobs is set.
func (w *watchingNodeWaiter) Follow(ctx context.Context, n *sequencer.Node, list kube.ResourceList) error {
	objectWatcher, err := w.sharedWatcher(ctx)
	if err != nil {
		return err
	}
	s := w.states[n]
	var targets []watcher.Target
	for i, info := range list {
		res := n.Resources[i]
		if !n.Awaited && res.IsJob() && !w.Jobs {
			continue
		}
		rules := readiness.Expressions{Success: res.Success, Failure: res.Failure}
		s.objects = append(s.objects, &objectState{node: n, resource: res, info: info})
		target := targetOf(info, "")
		target.Limit, target.Evaluate = w.limitOf(n, res), podrestart.Evaluator(w.cluster, info, w.Restarted, rules.Evaluator(objectWatcher.Evaluate))
		targets = append(targets, target)
	}
	s.group = objectWatcher.ExpectReady(targets...)
	return nil
}

// limitOf returns the limit of res, a resource of the node n: the timeout that an annotation
// of the resource sets, otherwise --readiness-timeout, otherwise the time that the resource
// can stand still, which does not apply to Jobs. The latter two do not apply to leaves. nil
// means that only the timeout of the operation applies.
func (w *watchingNodeWaiter) limitOf(n *sequencer.Node, res *sequencer.PlannedResource) waitlimit.Limit {
	switch timeout := cmp.Or(res.Timeout, w.Timeouts.Readiness); {
	case !n.Awaited && res.Timeout == 0:
		return nil
	case timeout > 0:
		return waitlimit.NewFixed(timeout)
	}
	standstill := waitlimit.StandstillConfig{Limit: w.Timeouts.Standstill, Pods: w.pods, Failure: w.failure}
	if res.IsJob() {
		standstill.Limit = 0
	}
	return waitlimit.NewStandstill(standstill)
}

// Applied implements NodeWaiter. It removes the Jobs of a leaf that have already ended.
func (w *watchingNodeWaiter) Applied(n *sequencer.Node, states object.LiveObjects) error {
	s := w.states[n]
	w.mu.Lock()
	s.applied = time.Now()
	w.mu.Unlock()
	s.objects = slices.DeleteFunc(s.objects, func(o *objectState) bool {
		ended := !n.Awaited && w.HasEnded != nil && w.HasEnded(o.info, states.Of(o.info))
		if ended {
			s.group.Remove(targetOf(o.info, ""))
		}
		return ended
	})
	var list kube.ResourceList
	for _, o := range s.objects {
		list = append(list, states.Of(o.info))
	}
	return setApplied(s.group, list)
}

// notApplied is a NotAppliedFunc. It searches the nodes that have not been written yet.
func (w *watchingNodeWaiter) notApplied(kind schema.GroupKind, namespace, name string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range w.Plan.Nodes {
		if !w.states[n].applied.IsZero() {
			continue
		}
		for _, res := range n.Resources {
			if res.ID == (sequencer.ID{Group: kind.Group, Kind: kind.Kind, Namespace: namespace, Name: name}) {
				return n.Title()
			}
		}
	}
	return ""
}

// Await implements NodeWaiter. It warns about custom resources that count as ready only
// because they have no Ready condition.
func (w *watchingNodeWaiter) Await(ctx context.Context, n *sequencer.Node) error {
	s := w.states[n]
	w.await(ctx, s, nil)
	for _, o := range s.objects {
		if res := o.resource; o.err == nil && len(res.Success) == 0 && o.report.Object != nil && !readiness.ReportsReadiness(o.report.Object) {
			w.events.Warnf("%s: %s counts as ready immediately because it has no Ready condition, "+
				"so its dependents may start too early: set the annotation %s", res.File, res.ID, annotation.ReadinessSuccess)
		}
	}
	switch failures, unfinished := w.failures(ctx, s.objects); {
	case len(failures) > 0:
		return failures
	case len(unfinished) > 0:
		return &UnfinishedError{}
	}
	return nil
}

// await waits until the objects of a node are ready, and stores the result for each object in
// its objectState. If hold is not nil, await does not return successfully before hold is
// closed, and all objects must be ready at that time.
func (w *watchingNodeWaiter) await(ctx context.Context, s *nodeState, hold <-chan struct{}) {
	s.group.SetOptions(watcher.WaitOptions{Start: s.applied, WaitForAll: true, OnFailure: w.RecordFailure, StayReadyUntil: hold})
	diagnosis := w.startDiagnosis(ctx, s)
	defer diagnosis.stop()
	count := newReadyCounter(len(s.objects))
	reports, err := s.group.Wait(ctx, func(report watcher.Report) {
		if diagnosis.update(report) {
			w.emitChange(s, report, nil)
		}
		allReady := count.update(report)
		s.unready.Store(int64(count.total - count.ready))
		if allReady && s.leaf { // for other nodes, the caller of Await emits this event
			w.events.Emit(event.Event{Type: event.NodeReady, Node: s.node.ID()})
		}
	})
	waited := time.Since(s.applied)
	var notReady *watcher.NotReadyError
	if err != nil && !errors.As(err, &notReady) {
		notReady = &watcher.NotReadyError{Reports: reports, Cause: err}
	}
	for i, o := range s.objects {
		o.report, o.waited = reports[i], waited
		if err != nil && (o.report.Status.State != readiness.Ready || o.report.TimedOut != nil) {
			o.err = notReady
		}
	}
}

// AwaitLeaf implements NodeWaiter.
func (w *watchingNodeWaiter) AwaitLeaf(ctx context.Context, n *sequencer.Node) bool {
	s := w.states[n]
	if len(s.objects) == 0 {
		return false
	}
	s.leaf = true
	s.unready.Store(int64(len(s.objects)))
	w.leaves.start(ctx, func(ctx context.Context) {
		w.await(ctx, s, w.leaves.applied)
		if s.isReady() {
			w.Done(n)
		}
		if failed := s.failedObjects(); len(failed) > 0 {
			w.events.Emit(event.Event{Type: event.NodeFailed, Node: n.ID(), Message: summarize(failed)})
			w.leaves.fail()
		}
	})
	return true
}

// CheckLeaves implements NodeWaiter.
func (w *watchingNodeWaiter) CheckLeaves() error {
	if w.leaves.hasFailed() {
		return waitlimit.ErrOtherFailure
	}
	return nil
}

// RecordFailure implements NodeWaiter.
func (w *watchingNodeWaiter) RecordFailure() { w.failure.Record() }

// AwaitLeaves implements NodeWaiter.
func (w *watchingNodeWaiter) AwaitLeaves(ctx context.Context, _ kube.ResourceList) error {
	objects := w.leafObjects()
	if unready := w.unready(); unready > 0 {
		w.events.Emit(event.Event{Type: event.Waiting, Message: "all nodes are applied; waiting for " + text.Count(unready, "resource") + " to become ready", Resources: unready})
	}
	w.leaves.wait()
	failures, unfinished := w.failures(ctx, objects)
	if len(failures) == 0 {
		return nil
	}
	return &failure.DeployError{Resources: failures, Unfinished: unfinished, Cause: context.Cause(ctx)}
}

// leafObjects returns the objects of all leaves, in the order of Plan.Nodes.
func (w *watchingNodeWaiter) leafObjects() []*objectState {
	var objects []*objectState
	for _, n := range w.Plan.Nodes {
		if s := w.states[n]; s.leaf {
			objects = append(objects, s.objects...)
		}
	}
	return objects
}

// unready counts the objects of leaves that are currently not ready.
func (w *watchingNodeWaiter) unready() int {
	unready := 0
	for _, s := range w.states {
		if s.leaf {
			unready += int(s.unready.Load())
		}
	}
	return unready
}

// emitChange emits an event about a new state of an object. s is the node of the object.
// causes, if any, say why the object is not ready.
func (w *watchingNodeWaiter) emitChange(s *nodeState, report watcher.Report, causes []failure.Cause) {
	e := ChangeEvent(report, s.node.ID(), w.Namespace)
	e.Cause, e.Causes = causesText(causes), causes
	if report.Status.State != readiness.Ready {
		switch limit := report.Target.Limit.(type) {
		case nil:
			e.Deadline = w.Deadline
		case *waitlimit.Fixed:
			e.Deadline = s.applied.Add(limit.Timeout() + report.Unobserved)
		}
	}
	w.events.Emit(e)
}

// AwaitPodsGone implements NodeWaiter.
func (w *watchingNodeWaiter) AwaitPodsGone(ctx context.Context, pods []object.PodRef) error {
	objectWatcher, err := w.sharedWatcher(ctx)
	if err != nil {
		return err
	}
	targets := make([]watcher.Target, len(pods))
	for i, pod := range pods {
		targets[i] = watcher.Target{
			GVR: object.PodResource(), GVK: object.PodKind(), Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
		}
	}
	_, err = objectWatcher.WaitDeleted(ctx, targets, nil)
	return err
}

// Close implements NodeWaiter.
func (w *watchingNodeWaiter) Close() {
	w.leaves.stop(waitlimit.ErrOtherFailure)
	if w.watcher != nil {
		w.watcher.Close()
	}
	if w.pods != nil {
		w.pods.Close()
	}
}
