// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package hooks runs the hooks of a release on a cluster, waits for their completion, and
// recovers the hooks of operations that terminated unexpectedly (docs/reference.md,
// "Hooks"). Package hookrunner decides in which order they run.
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
	"github.com/ordered-helm/helm/internal/hookrunner"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/objectwriter"
	"github.com/ordered-helm/helm/internal/text"
	"github.com/ordered-helm/helm/internal/wait"
)

// Runner runs the hooks of one operation. It has the clients and settings that are the same
// for all events.
type Runner struct {
	Cluster *cluster.Client
	Writer  objectwriter.Writer
	Waiter  wait.Waiter
	Events  *event.Sink
	// LogReader reads the logs of hooks.
	LogReader LogReader
	// Output returns the writer for the log of a container of a hook that has an output-log
	// policy. If Output is nil, no logs are printed.
	Output OutputFunc
	// SkipRecovery makes Recover leave the hooks as they are.
	SkipRecovery bool
	Options
}

// Options are the settings of the user for hooks.
type Options struct {
	// Timeout limits the wait for each hook; 0 means no limit.
	Timeout time.Duration
	// Limit is the maximum number of hooks that run in parallel; 0 means no limit.
	Limit int
	// FollowLogs says whether to read the logs of hooks while they run, and to emit their
	// last lines as events.
	FollowLogs bool
	// Modes says which charts run their hooks in parallel.
	Modes hookrunner.Modes
	// Filter returns false for hooks that are skipped. If Filter is nil, all hooks run.
	Filter func(*release.Hook) bool
}

// Run runs the hooks of the release of w that belong to hookEvent, and stores their results
// with w. If a hook fails, the error is a *failure.HookError.
func (r *Runner) Run(ctx context.Context, w *history.Writer, hookEvent release.HookEvent) error {
	hooks := hookrunner.ForEvent(w.Release().Hooks, hookEvent)
	if r.Filter != nil {
		hooks = slices.DeleteFunc(hooks, func(h *release.Hook) bool { return !r.Filter(h) })
	}
	if len(hooks) == 0 {
		return nil
	}
	buckets := hookrunner.Buckets(hooks, r.Modes)
	run, end, err := r.newRun(ctx, w, hookEvent)
	if err != nil {
		return err
	}
	defer end()
	return run.hookError(hookrunner.Run(ctx, buckets, run, r.Limit), hookrunner.IsHelmOrder(buckets))
}

// run is the hookrunner.Runner for the hooks of one event.
type run struct {
	*Runner
	writer *history.Writer
	event  release.HookEvent
	// completions waits for the objects of all hooks.
	completions wait.Completions

	// printing is locked while the log of one hook is printed.
	printing sync.Mutex
	// followed is a semaphore of size maxFollowed: a hook whose log is followed has one
	// place.
	followed chan struct{}

	// mu guards the fields below: the objects of each hook that was prepared, and the
	// number of hooks whose failure was explained.
	mu        sync.Mutex
	objects   map[*release.Hook]*hookObjects
	explained int
}

// hookObjects has the objects in the manifest of one hook while it runs. There is usually
// one.
type hookObjects struct {
	// list has the objects as declared, and after their creation as the server returned
	// them.
	list kube.ResourceList
	// completion waits for the objects. It is nil before their creation if the server
	// generates the name of any object that runs to completion.
	completion wait.Completion
	// created is the time at which all objects had been created.
	created time.Time
	// followErr is the error if the created objects cannot be observed.
	followErr error
}

var _ hookrunner.Runner = (*run)(nil)

// newRun returns a run for the hooks of one event of the release of w. The caller must call
// end when all hooks have completed.
func (r *Runner) newRun(ctx context.Context, w *history.Writer, hookEvent release.HookEvent) (hookRun *run, end func(), err error) {
	hookRun = &run{
		Runner: r, writer: w, event: hookEvent, objects: map[*release.Hook]*hookObjects{},
		followed: make(chan struct{}, maxFollowed),
	}
	if hookRun.completions, err = r.Waiter.Completions(ctx, r.Timeout); err != nil {
		return nil, nil, err
	}
	return hookRun, hookRun.completions.Close, nil
}

// isParallel reports whether the chart that contains a hook allows its hooks to run in
// parallel with others. If it does not, they behave exactly as in Helm.
func (r *run) isParallel(h *release.Hook) bool {
	mode, _ := r.Modes.Mode(h)
	return mode.IsParallel()
}

// Prepare implements hookrunner.Runner. It builds the objects of a hook from its manifest,
// and deletes existing objects with the same names if the hook has the policy
// before-hook-creation.
func (r *run) Prepare(ctx context.Context, h *release.Hook) error {
	if len(h.DeletePolicies) == 0 {
		r.writer.Change(func(*release.Release) { h.DeletePolicies = []release.HookDeletePolicy{release.HookBeforeHookCreation} })
	}
	list, invalid := r.build(h, true)
	if r.deletes(h, release.HookBeforeHookCreation) { // Helm does this before it rejects an invalid hook
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
	o := &hookObjects{list: list}
	if !slices.ContainsFunc(list, func(info *object.Info) bool { return info.Name == "" && object.RunsToCompletion(info) }) {
		o.completion = r.completions.Expect(list)
	}
	r.setObjects(h, o)
	return nil
}

// build builds the objects of a hook from its manifest. validate says whether to check
// their fields against the schemas of the cluster.
func (r *run) build(h *release.Hook, validate bool) (kube.ResourceList, error) {
	return r.Cluster.Build([]byte(h.Manifest), validate)
}

func (r *run) objectsOf(h *release.Hook) *hookObjects {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.objects[h]
}

func (r *run) setObjects(h *release.Hook, o *hookObjects) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.objects[h] = o
}

// Create implements hookrunner.Runner. It records in the release that the hook is running,
// and creates its objects.
func (r *run) Create(ctx context.Context, h *release.Hook) error {
	o := r.objectsOf(h)
	started := r.hookEvent(event.HookStarted, h)
	if r.Timeout > 0 {
		started.Deadline = time.Now().Add(r.Timeout)
	}
	r.Events.Emit(started)
	r.writer.Background.WriteSoon(func(*release.Release) {
		h.LastRun = release.HookExecution{StartedAt: helmtime.Now(), Phase: release.HookPhaseRunning}
	})
	if r.writer.IsUninstalling() {
		r.writer.Background.Flush() // an operation that takes over the release must know which hooks to wait for
	}
	if err := r.create(ctx, o); err != nil {
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

func (r *run) create(ctx context.Context, o *hookObjects) error {
	states, err := r.Writer.CreateHook(ctx, o.list)
	o.list = states.All(o.list)
	if err != nil {
		return multierror.Append(nil, err) // the error type of Helm
	}
	if o.completion == nil {
		o.completion = r.completions.Expect(o.list) // the watch begins with the current state of the objects, so it misses no change
	} else {
		o.followErr = o.completion.Created(o.list)
	}
	return nil
}

// hookEvent returns an event of the given type that names a hook.
func (r *run) hookEvent(what event.Type, h *release.Hook) event.Event {
	return event.Event{Type: what, Hook: hookrunner.Title(h), HookEvent: string(r.event)}
}

// setResult records in the release whether a hook succeeded or failed with err, and emits
// an event about it.
func (r *run) setResult(h *release.Hook, err error) {
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

// deletes reports whether a hook is deleted because of a delete policy. It returns false
// for CRDs, because their deletion would delete every object of their kinds.
func (r *run) deletes(h *release.Hook, policy release.HookDeletePolicy) bool {
	return h.Kind != object.CRDKind && slices.Contains(h.DeletePolicies, policy)
}

// Delete implements hookrunner.Runner. It deletes the objects of a hook that has the
// policy, and waits until they are gone. As in Helm, it deletes any objects with the names
// in the manifest. For hooks that can run in parallel, it deletes only the objects that
// this run created.
func (r *run) Delete(ctx context.Context, h *release.Hook, policy release.HookDeletePolicy) error {
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

func (r *run) delete(ctx context.Context, h *release.Hook, list kube.ResourceList) error {
	if r.writer.IsUninstalling() {
		r.writer.Background.Flush() // an operation that takes over the release will not find the hook, and must not run it again
	}
	deleted, errs := r.Writer.Delete(ctx, list, metav1.DeletePropagationBackground)
	if len(errs) > 0 {
		return errors.New(text.JoinErrors(errs))
	}
	return r.awaitDeleted(ctx, h, deleted)
}

// awaitDeleted waits until the deleted objects of a hook are gone. The limit is the
// annotation of the hook for this, or else Options.Timeout. It does not wait if the
// annotation is 0.
func (r *run) awaitDeleted(ctx context.Context, h *release.Hook, list kube.ResourceList) error {
	limit, declared, err := deleteTimeoutOf(h)
	source := "its annotation " + annotation.HookDeleteTimeout
	switch {
	case err != nil || !declared:
		limit, source = r.Timeout, "--timeout"
	case limit == 0:
		return nil
	}
	err = r.completions.Deleted(ctx, list, limit)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fmt.Errorf("hook %s (%s) still exists %s after it was deleted; to allow more time, raise %s: %w",
			hookrunner.Title(h), h.Path, limit, source, err)
	}
	return err
}

// Warn implements hookrunner.Runner. Like Helm, it writes to the log of the process.
func (r *run) Warn(h *release.Hook, err error) {
	log.Printf("error cleaning up the hook %s: %v", h.Path, r.Events.RedactError(err))
}
