// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-multierror"
	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	helmtime "helm.sh/helm/v3/pkg/time"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/hookrunner"
	"github.com/ordered-helm/helm/internal/watcher"
)

// hookOptions say how hooks run.
type hookOptions struct {
	// timeout is how long each hook may take; 0 is as long as it takes.
	timeout time.Duration
	// limit is how many run at once; 0 is no limit.
	limit int
	// follow reads the logs of hooks while they run.
	follow bool
	modes  hookrunner.Modes
	// picks, if set, leaves hooks out.
	picks func(*release.Hook) bool
}

// hookRun runs the hooks of one event of a release. It is a hookrunner.Runner.
type hookRun struct {
	*operation
	hookOptions
	ledger *ledger
	event  release.HookEvent
	// tracker follows all of them; nil where there is no cluster to watch.
	tracker *watcher.Watcher
	explain explainer

	// printing is held while the log of one hook is printed.
	printing sync.Mutex
	// following has a place for each hook whose log is followed.
	following chan struct{}
	// mu guards what follows: the objects of the hooks that were begun, and how
	// many failures were looked into.
	mu        sync.Mutex
	objects   map[*release.Hook]*hookObjects
	explained int
}

// hookObjects are the objects of one hook while it runs.
type hookObjects struct {
	list kube.ResourceList
	// group follows those that run to an end; nil if there are none.
	group *watcher.Group
	// unnamed is whether the server names any of those: the group is made when it
	// has.
	unnamed bool
	created time.Time
	// trouble is why what was created cannot be followed.
	trouble error
}

var _ hookrunner.Runner = (*hookRun)(nil)

// runHooks runs the hooks of an event. A hook that fails is a *HookError.
func (op *operation) runHooks(ctx context.Context, l *ledger, event release.HookEvent, o hookOptions) error {
	hooks := hookrunner.ForEvent(l.rel.Hooks, event)
	if o.picks != nil {
		hooks = slices.DeleteFunc(hooks, func(h *release.Hook) bool { return !o.picks(h) })
	}
	if len(hooks) == 0 {
		return nil
	}
	buckets := hookrunner.Buckets(hooks, o.modes)
	r, end, err := op.newHookRun(ctx, l, event, o)
	if err != nil {
		return err
	}
	defer end()
	return r.failure(hookrunner.Run(ctx, buckets, r, hookrunner.Options{MaxParallel: o.limit}), hookrunner.IsHelmOrder(buckets))
}

// newHookRun prepares to run hooks, until end is called.
func (op *operation) newHookRun(ctx context.Context, l *ledger, event release.HookEvent, o hookOptions) (r *hookRun, end func(), err error) {
	r = &hookRun{
		operation: op, hookOptions: o, ledger: l, event: event, objects: map[*release.Hook]*hookObjects{},
		explain:   op.explainer(op.events.masker, nil),
		following: make(chan struct{}, mostFollowed),
	}
	if !op.cluster.Real() {
		return r, func() {}, nil
	}
	if r.tracker, err = newTracker(ctx, op.cluster, op.events.notice); err != nil {
		return nil, nil, err
	}
	return r, r.tracker.Close, nil
}

// isParallel reports whether the hook's chart runs hooks in another way than Helm.
func (r *hookRun) isParallel(h *release.Hook) bool {
	mode, _ := r.modes.Mode(h)
	return mode.IsParallel()
}

// Prepare deletes what is in the hook's way and reads what it consists of.
func (r *hookRun) Prepare(ctx context.Context, h *release.Hook) error {
	if len(h.DeletePolicies) == 0 {
		r.ledger.change(func(*release.Release) { h.DeletePolicies = []release.HookDeletePolicy{release.HookBeforeHookCreation} })
	}
	list, invalid := r.build(h)
	if r.deletes(h, release.HookBeforeHookCreation) { // Helm does so before it finds the hook invalid
		before, err := list, error(nil)
		if invalid != nil || r.tracker == nil { // who plays a cluster may change the list
			before, err = r.cluster.Build([]byte(h.Manifest), false)
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
	o.unnamed = slices.ContainsFunc(o.runToEnd(), func(info *kubeInfo) bool { return info.Name == "" })
	if !o.unnamed {
		r.expect(o)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.objects[h] = o
	return nil
}

// runToEnd are the objects that run to an end.
func (o *hookObjects) runToEnd() kube.ResourceList {
	return slices.DeleteFunc(slices.Clone(o.list), func(info *kubeInfo) bool { return !cluster.RunsToEnd(info) })
}

// expect has the tracker follow what runs to an end.
func (r *hookRun) expect(o *hookObjects) {
	list := o.runToEnd()
	if r.tracker == nil || len(list) == 0 {
		return
	}
	targets := make([]watcher.Target, len(list))
	for i, info := range list {
		targets[i] = targetOf(info, "")
	}
	o.group = r.tracker.ExpectCompletion(targets...)
	o.group.SetOptions(watcher.Options{WaitForAll: true})
}

func (r *hookRun) objectsOf(h *release.Hook) *hookObjects {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.objects[h]
}

// Create notes in the release that the hook runs, and creates it.
func (r *hookRun) Create(ctx context.Context, h *release.Hook) error {
	o := r.objectsOf(h)
	started := r.eventOf(EventHookStarted, h)
	if r.timeout > 0 {
		started.Deadline = time.Now().Add(r.timeout)
	}
	r.events.emit(started)
	r.ledger.storeSoon(func(*release.Release) {
		h.LastRun = release.HookExecution{StartedAt: helmtime.Now(), Phase: release.HookPhaseRunning}
	})
	if r.ledger.removes() {
		r.ledger.writeNote() // who carries on must know what it waits for
	}
	if err := r.create(ctx, o); err != nil {
		if o.group != nil {
			o.group.Close()
		}
		err = fmt.Errorf("warning: Hook %s %s failed: %w", r.event, h.Path, err)
		r.completed(h, err)
		return err
	}
	o.created = time.Now()
	return nil
}

func (r *hookRun) create(ctx context.Context, o *hookObjects) error {
	if err := r.cluster.CreateHook(ctx, o.list); err != nil {
		return multierror.Append(nil, err) // Helm's words
	}
	switch {
	case o.unnamed:
		r.expect(o) // it is read first: nothing is missed
	case o.group != nil:
		o.trouble = applied(o.group, o.runToEnd())
	}
	return nil
}

// eventOf is an event about a hook.
func (r *hookRun) eventOf(what EventType, h *release.Hook) Event {
	return Event{Type: what, Hook: hookrunner.Title(h), HookEvent: string(r.event)}
}

// completed notes what became of a hook.
func (r *hookRun) completed(h *release.Hook, err error) {
	phase := release.HookPhaseSucceeded
	if err != nil {
		phase = release.HookPhaseFailed
	}
	var ran *hookFailure
	if errors.As(err, &ran) { // Helm's words do not fit into a line
		err = ran.resources
	}
	done := r.eventOf(EventHookDone, h)
	if done.Err = err; err != nil {
		done.Message = err.Error()
	}
	r.ledger.change(func(*release.Release) { h.LastRun.CompletedAt, h.LastRun.Phase = helmtime.Now(), phase })
	r.events.emit(done)
}

// deletes reports whether the hook's policy says that it is deleted. Definitions
// never are: that would delete every object of their kinds.
func (r *hookRun) deletes(h *release.Hook, policy release.HookDeletePolicy) bool {
	return h.Kind != crdKind && slices.Contains(h.DeletePolicies, policy)
}

// Delete deletes the hook, if its policy says so, and waits until it is gone: as in
// Helm what bears its name, but where hooks run in parallel only what was created.
func (r *hookRun) Delete(ctx context.Context, h *release.Hook, policy release.HookDeletePolicy) error {
	if !r.deletes(h, policy) {
		return nil
	}
	if r.isParallel(h) {
		return r.delete(ctx, h, r.objectsOf(h).list)
	}
	list, err := r.cluster.Build([]byte(h.Manifest), false)
	if err != nil {
		return fmt.Errorf("unable to build kubernetes object for deleting hook %s: %w", h.Path, err)
	}
	return r.delete(ctx, h, list)
}

func (r *hookRun) delete(ctx context.Context, h *release.Hook, list kube.ResourceList) error {
	if r.ledger.removes() {
		r.ledger.writeNote() // who carries on does not find it, and must not run it again
	}
	deleted, errs := r.cluster.Delete(ctx, list, metav1.DeletePropagationBackground)
	if len(errs) > 0 {
		return errors.New(joined(errs))
	}
	return r.awaitDeleted(ctx, h, deleted)
}

// awaitDeleted waits, for as long as the hook says, until its objects are gone.
func (r *hookRun) awaitDeleted(ctx context.Context, h *release.Hook, list kube.ResourceList) error {
	limit, given, err := deleteTimeoutOf(h)
	raise := "its annotation " + deleteTimeoutAnnotation
	switch {
	case err != nil || !given:
		limit, raise = r.timeout, "--timeout"
	case limit == 0:
		return nil
	}
	waiting := deletionWait{cluster: r.cluster, tracker: r.tracker, timeout: limit}
	err = waiting.run(ctx, list)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fmt.Errorf("hook %s (%s) was deleted and is not gone after %s, raise %s if it only needs more time: %w",
			hookrunner.Title(h), h.Path, limit, raise, err)
	}
	return err
}

// Warn reports, where Helm does, what went wrong in cleaning up.
func (r *hookRun) Warn(h *release.Hook, err error) {
	log.Printf("error cleaning up the hook %s: %v", h.Path, r.events.conceal(err))
}

func joined(errs []error) string {
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}
