// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package hooks runs the hooks of a release in a cluster, waits until they complete, and
// recovers the hooks of operations that terminated unexpectedly (docs/reference.md,
// "Hooks"). Package hookorder determines the order in which they run.
package hooks

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-multierror"
	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	helmtime "helm.sh/helm/v3/pkg/time"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/hookorder"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/objectwriter"
	"github.com/ordered-helm/helm/internal/text"
	"github.com/ordered-helm/helm/internal/wait"
)

// Runner runs the hooks of one operation. It contains what the hooks of all events have in
// common.
type Runner struct {
	Cluster *cluster.Client
	Writer  objectwriter.Writer
	Waiter  wait.Waiter
	Events  *event.Sink
	// LogReader reads the logs of hooks.
	LogReader LogReader
	// Output returns the writer for the log of a container of a hook. It is called for hooks
	// with an output-log policy. If it is nil, no logs are printed.
	Output LogOutputFunc
	// SkipRecovery makes Recover ignore the hooks of terminated operations, and makes all
	// hooks unmanaged.
	SkipRecovery bool
	Options
}

// Options contains the options of the user for hooks.
type Options struct {
	// Timeout limits the wait for each hook; 0 means no limit.
	Timeout time.Duration
	// Limit is the maximum number of hooks that run in parallel; 0 means no limit.
	Limit int
	// FollowLogs says whether to read the log of each hook while it runs, and to emit its
	// last line as events.
	FollowLogs bool
	// Modes says which hooks can run in parallel.
	Modes hookorder.ChartModes
	// Filter reports whether a hook runs. If it is nil, all hooks run.
	Filter func(*release.Hook) bool
}

// Run runs those hooks of the release of w that belong to hookEvent, and stores their
// results with w. If a hook fails, the error is a *failure.HookError.
func (r *Runner) Run(ctx context.Context, w *history.Writer, hookEvent release.HookEvent) error {
	hooks := hookorder.ForEvent(w.Release().Hooks, hookEvent)
	if r.Filter != nil {
		hooks = slices.DeleteFunc(hooks, func(h *release.Hook) bool { return !r.Filter(h) })
	}
	if len(hooks) == 0 {
		return nil
	}
	buckets := hookorder.Buckets(hooks, r.Modes)
	run, end, err := r.newEventRun(ctx, w, hookEvent)
	if err != nil {
		return err
	}
	defer end()
	return run.hookError(hookorder.Run(ctx, buckets, run, r.Limit), hookorder.IsHelmOrder(buckets))
}

// eventRun runs the hooks of one event. It implements hookorder.HookActions.
type eventRun struct {
	*Runner
	writer *history.Writer
	event  release.HookEvent
	// hookWaiter waits for the objects of all hooks.
	hookWaiter wait.HookWaiter

	// printing is locked while the log of a hook is printed, so that logs do not mix.
	printing sync.Mutex
	// followSlots limits the number of logs that are followed: it contains one value for
	// each, and has room for maxFollowed.
	followSlots chan struct{}

	// mu guards objects, which contains the objects of each prepared hook, and explained,
	// the number of calls of mayExplain.
	mu        sync.Mutex
	objects   map[*release.Hook]*hookObjects
	explained int
}

// hookObjects contains the objects in the manifest of a hook, usually one, while the hook
// runs.
type hookObjects struct {
	// list contains the objects as declared or, after they were created, as the server
	// returned them.
	list kube.ResourceList
	// completion waits for the objects. It is nil before the objects are created if the
	// server generates the name of an object that runs to completion.
	completion wait.HookWait
	// created is the time at which all objects had been created.
	created time.Time
	// watchErr is the error with which watching the created objects failed.
	watchErr error
	// managed says whether the objects belong to the release (see hookorder.ChartModes).
	managed bool
}

var _ hookorder.HookActions = (*eventRun)(nil)

// newEventRun returns an eventRun for hookEvent and the release of w. The caller must call
// end when all hooks have completed.
func (r *Runner) newEventRun(ctx context.Context, w *history.Writer, hookEvent release.HookEvent) (hookRun *eventRun, end func(), err error) {
	hookRun = &eventRun{
		Runner: r, writer: w, event: hookEvent, objects: map[*release.Hook]*hookObjects{},
		followSlots: make(chan struct{}, maxFollowed),
	}
	if hookRun.hookWaiter, err = r.Waiter.NewHookWaiter(ctx, r.Timeout); err != nil {
		return nil, nil, err
	}
	return hookRun, hookRun.hookWaiter.Close, nil
}

// isParallel reports whether the chart that contains a hook lets its hooks run in parallel.
// Otherwise, the hook must behave exactly as in Helm.
func (r *eventRun) isParallel(h *release.Hook) bool {
	mode, _ := r.Modes.Mode(h)
	return mode.IsParallel()
}

// Prepare implements hookorder.HookActions. It builds the objects of a hook from its
// manifest. If the hook has the policy before-hook-creation, it deletes existing objects with
// the same names.
func (r *eventRun) Prepare(ctx context.Context, h *release.Hook) error {
	if len(h.DeletePolicies) == 0 {
		r.writer.Change(func(*release.Release) { h.DeletePolicies = []release.HookDeletePolicy{release.HookBeforeHookCreation} })
	}
	list, invalid := r.build(h, true)
	if r.deletes(h, release.HookBeforeHookCreation) { // Helm does this even for a hook that it then rejects as invalid
		before, err := list, error(nil)
		if invalid != nil {
			before, err = r.build(h, false)
		}
		if err != nil {
			return fmt.Errorf("unable to build kubernetes object for deleting hook %s: %w", h.Path, err)
		}
		if err := r.delete(ctx, h, before); err != nil {
			return err
		}
	}
	if invalid != nil {
		return fmt.Errorf("unable to build kubernetes object for %s hook %s: %w", r.event, h.Path, invalid)
	}
	o := &hookObjects{list: list, managed: !r.SkipRecovery && r.Modes.IsManaged(h)}
	if o.managed {
		if err := object.SetOwner(list, r.owner()); err != nil {
			return err
		}
	}
	if !slices.ContainsFunc(list, func(info *object.Info) bool { return info.Name == "" && object.RunsToCompletion(info) }) {
		o.completion = r.hookWaiter.Expect(list)
	}
	r.setObjects(h, o)
	return nil
}

// build builds the objects of a hook from its manifest. validate says whether to check them
// against the OpenAPI schemas of the cluster.
func (r *eventRun) build(h *release.Hook, validate bool) (kube.ResourceList, error) {
	return r.Cluster.Build([]byte(h.Manifest), validate)
}

func (r *eventRun) objectsOf(h *release.Hook) *hookObjects {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.objects[h]
}

func (r *eventRun) setObjects(h *release.Hook, o *hookObjects) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.objects[h] = o
}

// Create implements hookorder.HookActions. It records in the release that a hook is running,
// and creates the objects of the hook.
func (r *eventRun) Create(ctx context.Context, h *release.Hook) error {
	o := r.objectsOf(h)
	started := r.hookEvent(event.HookStarted, h)
	if r.Timeout > 0 {
		started.Deadline = time.Now().Add(r.Timeout)
	}
	r.Events.Emit(started)
	r.writer.Background.WriteSoon(func(*release.Release) {
		h.LastRun = release.HookExecution{StartedAt: helmtime.Now(), Phase: release.HookPhaseRunning}
	})
	if expected := r.expectCreation(o); expected || r.writer.IsUninstalling() {
		r.writer.Background.Flush() // an operation that takes over the release must know which hooks to wait for, and what to delete
	}
	err := r.create(ctx, o)
	r.recordCreation(o, err)
	if err != nil {
		if o.completion != nil {
			o.completion.Close()
		}
		err = fmt.Errorf("warning: Hook %s %s failed: %w", r.event, h.Path, err)
		r.setResult(h, err)
		return err
	}
	o.created = time.Now()
	return nil
}

func (r *eventRun) create(ctx context.Context, o *hookObjects) error {
	states, err := r.createObjects(ctx, o)
	o.list = states.All(o.list)
	if err != nil {
		return multierror.Append(nil, err) // the error type of Helm
	}
	if o.completion == nil {
		o.completion = r.hookWaiter.Expect(o.list) // the watch begins with the current state of the objects, so it misses no change
	} else {
		o.watchErr = o.completion.Created(o.list)
	}
	return nil
}

// hookEvent returns an event of type t about a hook.
func (r *eventRun) hookEvent(t event.Type, h *release.Hook) event.Event {
	return event.Event{Type: t, Hook: hookorder.Title(h), HookEvent: string(r.event)}
}

// setResult records in the release that a hook has succeeded or, if err is not nil, failed,
// and emits an event about it.
func (r *eventRun) setResult(h *release.Hook, err error) {
	phase := release.HookPhaseSucceeded
	if err != nil {
		phase = release.HookPhaseFailed
	}
	var incomplete *failure.IncompleteHookError
	if errors.As(err, &incomplete) { // Helm's message has several lines
		err = incomplete.Resources
	}
	done := r.hookEvent(event.HookDone, h)
	if done.Err = err; err != nil {
		done.Message = err.Error()
	}
	r.writer.Change(func(*release.Release) { h.LastRun.CompletedAt, h.LastRun.Phase = helmtime.Now(), phase })
	r.Events.Emit(done)
}

// deletes reports whether a hook has the given delete policy. It returns false for CRDs,
// because deleting them would delete all objects of their kinds.
func (r *eventRun) deletes(h *release.Hook, policy release.HookDeletePolicy) bool {
	return h.Kind != object.CRDKind && slices.Contains(h.DeletePolicies, policy)
}

// Delete implements hookorder.HookActions. If a hook has the given policy, Delete deletes its
// objects, and waits until they are gone. As in Helm, it deletes any objects with the names
// in the manifest. For hooks that can run in parallel, it deletes only objects that this run
// created.
func (r *eventRun) Delete(ctx context.Context, h *release.Hook, policy release.HookDeletePolicy) error {
	if !r.deletes(h, policy) {
		return nil
	}
	if r.isParallel(h) {
		return r.delete(ctx, h, r.objectsOf(h).list)
	}
	list, err := r.build(h, false)
	if err != nil {
		return fmt.Errorf("unable to build kubernetes object for deleting hook %s: %w", h.Path, err)
	}
	return r.delete(ctx, h, list)
}

func (r *eventRun) delete(ctx context.Context, h *release.Hook, list kube.ResourceList) error {
	if r.writer.IsUninstalling() {
		r.writer.Background.Flush() // an operation that takes over the release must not run the deleted hook again
	}
	deletion, errs := r.Writer.Delete(ctx, list, objectwriter.DeleteOptions{Propagation: metav1.DeletePropagationBackground})
	if len(errs) > 0 {
		return errors.New(text.JoinErrors(errs))
	}
	if err := r.awaitDeleted(ctx, h, deletion.Terminating); err != nil {
		return err
	}
	r.forgetDeleted(list)
	return nil
}

// awaitDeleted waits until the deleted objects of a hook are gone. The annotation
// hook-delete-timeout of the hook limits the wait; if it is 0, awaitDeleted does not wait.
// Without the annotation, Options.Timeout limits the wait.
func (r *eventRun) awaitDeleted(ctx context.Context, h *release.Hook, list kube.ResourceList) error {
	limit, declared, err := deleteTimeoutOf(h)
	source := "its annotation " + annotation.HookDeleteTimeout
	switch {
	case err != nil || !declared:
		limit, source = r.Timeout, "--timeout"
	case limit == 0:
		return nil
	}
	err = r.hookWaiter.WaitDeleted(ctx, list, limit)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fmt.Errorf("hook %s (%s) still exists %s after it was deleted; to allow more time, increase %s: %w",
			hookorder.Title(h), h.Path, limit, source, err)
	}
	return err
}

// Warn implements hookorder.HookActions. As in Helm, it logs to the standard logger of
// package log.
func (r *eventRun) Warn(h *release.Hook, err error) {
	log.Printf("error cleaning up the hook %s: %v", h.Path, r.Events.RedactError(err))
}
