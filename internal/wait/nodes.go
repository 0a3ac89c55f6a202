// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"errors"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/text"
	"github.com/ordered-helm/helm/internal/watcher"
)

// Timeouts has the limits that the user sets for one operation, with --timeout and
// --readiness-timeout.
type Timeouts struct {
	// Operation limits the whole operation; 0 means no limit.
	Operation time.Duration
	// Readiness limits the wait for each resource that others depend on.
	Readiness time.Duration
}

// Nodes waits until the nodes of a plan are ready. For each node, the caller calls Follow,
// writes the objects, calls Applied, and then Await, or AwaitLeaf if the node has no
// dependents. When all nodes are written, it calls AwaitLeaves. Different nodes can be in
// different steps at the same time, in several goroutines.
type Nodes interface {
	// Follow prepares to observe the objects of a node. The caller must call it before it
	// writes them, so that no change is missed. The list has one object for each of
	// n.Resources, in the same order.
	Follow(ctx context.Context, n *sequencer.Node, list kube.ResourceList) error
	// Applied records that the objects of a node were written. states has each object as
	// the server returned it.
	Applied(n *sequencer.Node, states object.LiveObjects) error
	// Await waits until all objects of a node are ready. Each object has its own timeout.
	Await(ctx context.Context, n *sequencer.Node) error
	// AwaitLeaf starts to wait in the background for a leaf, a node without dependents. It
	// returns false if the leaf has no objects to wait for. A failure of the leaf is in the
	// error of AwaitLeaves, or of DeployError if another node fails first. The leaf must
	// still be ready when the last node of the plan has been written.
	AwaitLeaf(ctx context.Context, n *sequencer.Node) bool
	// AwaitLeaves waits until all leaves are ready. When one of them fails, the wait for
	// the others ends, too. all has the objects of all nodes of the plan.
	AwaitLeaves(ctx context.Context, all kube.ResourceList) error
	// CheckLeaves returns an error if a leaf has failed. The caller must not start another
	// node then.
	CheckLeaves() error
	// AwaitPodsGone waits until pods that the caller has deleted no longer exist.
	AwaitPodsGone(ctx context.Context, pods []object.PodRef) error
	// DeployError stops the waits for leaves, and converts err, which names the nodes that
	// failed or were not started, to the error of the operation.
	DeployError(ctx context.Context, err *sequencer.ExecutionError) *failure.DeployError
	// Close stops the waits that are still running in the background, and the watches.
	Close()
}

// NodesConfig configures Waiter.Nodes.
type NodesConfig struct {
	Plan     *sequencer.Plan
	Timeouts Timeouts
	// Jobs says whether to wait for Jobs in leaves.
	Jobs bool
	// Namespace is the namespace of the release.
	Namespace string
	// Deadline is the time at which the operation times out; zero if there is no limit.
	Deadline time.Time
	// Restarted tells which workloads had their pods deleted by this operation; it can be
	// nil.
	Restarted RestartedFunc
	// IsUnchanged reports whether the operation found an object already as declared and did
	// not change it.
	IsUnchanged func(*object.Info) bool
	// Done is called when a leaf is ready.
	Done func(*sequencer.Node)
}

// Nodes implements Waiter.
func (w *watching) Nodes(c NodesConfig) Nodes {
	n := &watchedNodes{
		NodesConfig: c, watching: w, states: make(map[*sequencer.Node]*nodeState, len(c.Plan.Nodes)),
		leaves: newLeafWaits(), diagnosed: make(chan struct{}, maxDiagnosed),
	}
	for _, node := range c.Plan.Nodes {
		n.states[node] = &nodeState{node: node}
	}
	n.explainer = w.newExplainer(n.notApplied)
	return n
}

// watchedNodes is the Nodes for a cluster: it watches the objects.
type watchedNodes struct {
	NodesConfig
	*watching
	states    map[*sequencer.Node]*nodeState
	leaves    *leafWaits
	explainer *Explainer
	// diagnosed is a semaphore of size maxDiagnosed for the periodic diagnosis of all nodes
	// together.
	diagnosed chan struct{}

	// tracker observes the objects of all nodes. track creates it.
	trackerOnce sync.Once
	tracker     *watcher.Watcher
	trackerErr  error

	// mu guards nodeState.applied of all nodes.
	mu sync.Mutex
}

// track returns the tracker of the operation. The first call creates it.
func (w *watchedNodes) track(ctx context.Context) (*watcher.Watcher, error) {
	w.trackerOnce.Do(func() {
		w.tracker, w.trackerErr = newTracker(ctx, w.cluster, w.events.Notice)
	})
	return w.tracker, w.trackerErr
}

// Follow implements Nodes. It skips the Jobs of a leaf unless NodesConfig.Jobs is set.
func (w *watchedNodes) Follow(ctx context.Context, n *sequencer.Node, list kube.ResourceList) error {
	tracker, err := w.track(ctx)
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
		target.Timeout, target.Evaluate = w.timeoutOf(n, res), afterRestart(w.cluster, info, w.Restarted, rules.Evaluator(tracker.Evaluate))
		targets = append(targets, target)
	}
	s.group = tracker.ExpectReady(targets...)
	return nil
}

// timeoutOf returns the readiness timeout of res, a resource of the node n; 0 means that
// only the timeout of the operation applies. The timeout that the resource declares takes
// precedence. The readiness timeout of the operation does not apply to leaves.
func (w *watchedNodes) timeoutOf(n *sequencer.Node, res *sequencer.PlannedResource) time.Duration {
	if res.Timeout > 0 || !n.Awaited {
		return res.Timeout
	}
	return w.Timeouts.Readiness
}

// Applied implements Nodes.
func (w *watchedNodes) Applied(n *sequencer.Node, states object.LiveObjects) error {
	s := w.states[n]
	w.mu.Lock()
	s.applied = time.Now()
	w.mu.Unlock()
	var list kube.ResourceList
	for _, o := range s.objects {
		list = append(list, states.Of(o.info))
	}
	return setApplied(s.group, list)
}

// notApplied is a NotAppliedFunc: it looks the object up in the nodes that are not written
// yet.
func (w *watchedNodes) notApplied(kind schema.GroupKind, namespace, name string) string {
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

// Await implements Nodes. It warns about ready objects whose kind does not report
// readiness.
func (w *watchedNodes) Await(ctx context.Context, n *sequencer.Node) error {
	s := w.states[n]
	w.await(ctx, s, nil)
	for _, o := range s.objects {
		if res := o.resource; o.err == nil && len(res.Success) == 0 && o.report.Object != nil && !readiness.ReportsReadiness(o.report.Object) {
			w.events.Warnf("%s: %s counts as ready immediately because it has no Ready condition, "+
				"so its dependents may start too early: set the annotation %s", res.File, res.ID, annotation.ReadinessSuccess)
		}
	}
	if failures, _ := w.failures(ctx, s.objects); len(failures) > 0 {
		return failures
	}
	return nil
}

// await waits for the objects of a node, and stores the result of each in its objectState.
// If hold is not nil, the wait does not end successfully before hold is closed, and all
// objects must be ready then.
func (w *watchedNodes) await(ctx context.Context, s *nodeState, hold <-chan struct{}) {
	s.group.SetOptions(watcher.Options{Start: s.applied, WaitForAll: true, StayReadyUntil: hold})
	diagnosis := w.startDiagnosis(ctx, s)
	defer diagnosis.stop()
	count := newReadyCount(len(s.objects))
	reports, err := s.group.Wait(ctx, func(report watcher.Report) {
		if diagnosis.update(report) {
			w.changed(s, report, "")
		}
		allReady := count.update(report)
		s.unready.Store(int64(count.total - count.ready))
		if allReady && s.leaf { // for other nodes the caller emits the event
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
		if err != nil && (o.report.Status.State != readiness.Ready || o.report.TimedOutAfter > 0) {
			o.err = notReady
		}
	}
}

// AwaitLeaf implements Nodes.
func (w *watchedNodes) AwaitLeaf(ctx context.Context, n *sequencer.Node) bool {
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

// CheckLeaves implements Nodes.
func (w *watchedNodes) CheckLeaves() error {
	if w.leaves.hasFailed() {
		return errOtherFailure
	}
	return nil
}

// AwaitLeaves implements Nodes. It waits for the leaves that AwaitLeaf started to wait for.
func (w *watchedNodes) AwaitLeaves(ctx context.Context, _ kube.ResourceList) error {
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

// leafObjects lists the objects of leaves, in the order of the plan.
func (w *watchedNodes) leafObjects() []*objectState {
	var objects []*objectState
	for _, n := range w.Plan.Nodes {
		if s := w.states[n]; s.leaf {
			objects = append(objects, s.objects...)
		}
	}
	return objects
}

// unready counts the objects of leaves that are currently not ready.
func (w *watchedNodes) unready() int {
	unready := 0
	for _, s := range w.states {
		if s.leaf {
			unready += int(s.unready.Load())
		}
	}
	return unready
}

// changed emits an event with the state of an object of the node s. cause, if not empty,
// says why the object is not ready.
func (w *watchedNodes) changed(s *nodeState, report watcher.Report, cause string) {
	e := ChangeEvent(report, s.node.ID(), w.Namespace)
	e.Cause = cause
	switch within := report.Target.Timeout; {
	case report.Status.State == readiness.Ready:
	case within > 0:
		e.Deadline = s.applied.Add(within + report.Unobserved)
	default:
		e.Deadline = w.Deadline
	}
	w.events.Emit(e)
}

// AwaitPodsGone implements Nodes.
func (w *watchedNodes) AwaitPodsGone(ctx context.Context, pods []object.PodRef) error {
	tracker, err := w.track(ctx)
	if err != nil {
		return err
	}
	targets := make([]watcher.Target, len(pods))
	for i, pod := range pods {
		targets[i] = watcher.Target{
			GVR: object.PodResource(), GVK: object.PodKind(), Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
		}
	}
	_, err = tracker.WaitDeleted(ctx, targets, nil)
	return err
}

// Close implements Nodes.
func (w *watchedNodes) Close() {
	w.leaves.stop(errOtherFailure)
	if w.tracker != nil {
		w.tracker.Close()
	}
}
