// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"time"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/hooks"
	"github.com/ordered-helm/helm/internal/lease"
	"github.com/ordered-helm/helm/internal/lifecycle"
	"github.com/ordered-helm/helm/internal/operation"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/uninstall"
)

// Uninstall uninstalls a release. It has every field of Helm's Uninstall, with the same
// meaning. A release that was deployed in order is uninstalled in the reverse order
// (docs/reference.md, "Uninstall").
type Uninstall struct {
	*helmaction.Uninstall

	// WaitStrategy, if WaitStrategyOrdered, makes the uninstall wait until all objects are
	// deleted, as the field Wait does. It does not change the order.
	WaitStrategy WaitStrategy
	// IgnoreOrder makes the uninstall delete all objects at the same time, without
	// ordering, even if the release was deployed in order.
	IgnoreOrder bool
	// ReadinessTimeout is the time that the deletion of one node of the deployment graph
	// (its objects and their pods) may take, if other nodes are deleted after it. 0 means
	// no limit except Timeout. A negative value, or one longer than Timeout, is an error.
	ReadinessTimeout time.Duration
	// MaxParallelHooks is the maximum number of hooks that run at the same time, if a chart
	// allows its hooks to run in parallel. 0 means no limit. A negative value is an error.
	MaxParallelHooks int
	// FollowHookLogs makes the operation read the log of each running hook about once a
	// second, and report its last line in an event of type EventHookLog.
	FollowHookLogs bool
	// Takeover says what to do if another operation has locked the release and may have
	// terminated unexpectedly. An empty value means TakeoverAuto. If the release is not
	// taken over, the error is a *HeldError (docs/reference.md, "Release locks").
	Takeover Takeover
	// OnEvent, if not nil, is called with each event of the operation (docs/reference.md,
	// "Events"). It is called from different goroutines, but never concurrently. It must
	// return quickly, because the operation waits for it.
	OnEvent func(Event)
	// Lifecycle contains handlers of the events of the operation; nil if there are none
	// (docs/reference.md, "Lifecycle events").
	Lifecycle *lifecycle.Emitter
	ScriptOptions
	// DisableScripts makes the operation run no scripts.
	DisableScripts bool

	cfg *Configuration
	// spared contains objects that must not be deleted. In an uninstall because of
	// --atomic, these are the objects that the failed install adopted.
	spared map[sequencer.ID]bool
	// undo identifies the failed install that started this uninstall because of --atomic;
	// otherwise nil.
	undo *lease.FailedOperation
}

// NewUninstall returns an Uninstall with Helm's defaults.
func NewUninstall(cfg *Configuration) *Uninstall {
	return &Uninstall{Uninstall: helmaction.NewUninstall(cfg), cfg: cfg}
}

// Run is like RunWithContext with a context that is never canceled.
func (u *Uninstall) Run(name string) (*release.UninstallReleaseResponse, error) {
	return u.RunWithContext(context.Background(), name) //nolint:forbidigo // the signature is Helm's
}

// RunWithContext uninstalls the release with the given name.
//
// When ctx is done, RunWithContext stops, records the release as failed and returns an
// error that wraps the cause of ctx. None of its work continues after it has returned.
// After a failure, call it again to delete the remaining objects. The error can be a
// *RemovalError or *HookError (docs/reference.md, "SDK").
func (u *Uninstall) RunWithContext(ctx context.Context, name string) (*release.UninstallReleaseResponse, error) {
	if err := validateOptions(u.WaitStrategy, u.Takeover, u.MaxParallelHooks); err != nil {
		return nil, err
	}
	limits, err := operation.NewTimeouts(u.Timeout, u.ReadinessTimeout, u.WaitStrategy == WaitStrategyOrdered)
	if err != nil {
		return nil, err
	}
	if err := u.cfg.KubeClient.IsReachable(); err != nil {
		return nil, err
	}
	if u.DryRun {
		return u.dryRun(name)
	}
	target, response, err := u.load(ctx, name)
	if err != nil || target == nil {
		return response, err
	}
	ordered, err := u.isOrdered(target)
	if err != nil {
		return nil, err
	}
	op, ctx, end := operation.Start(ctx, u.cfg, operation.StartOptions{Notify: u.OnEvent, Timeouts: limits, Bounded: ordered})
	defer end()
	op.Announce(Operation{Name: "uninstall", Release: name, Namespace: target.Release.Namespace, Revision: target.Release.Version, Ordered: ordered})
	events, endScripts, err := u.storedEvents(ctx, op, u.cfg, storedEventsConfig{
		emitter: u.Lifecycle, disabled: u.DisableScripts || u.undo != nil, source: target.Release, rel: target.Release,
	})
	if err != nil {
		return nil, op.Finish(ctx, err)
	}
	defer endScripts()
	response, err = perform(ctx, uninstall.New(op, target, u.options(events, ordered)))
	return response, op.Finish(ctx, err)
}

// load reads the release and checks that no other operation has locked it. The returned
// target is nil if nothing is left to uninstall: the release does not exist and
// IgnoreNotFound is set, or the release is already uninstalled. In the second case, load
// deletes its stored revisions.
func (u *Uninstall) load(ctx context.Context, name string) (*uninstall.Target, *release.UninstallReleaseResponse, error) {
	if err := chartutil.ValidateReleaseName(name); err != nil {
		return nil, nil, fmt.Errorf("uninstall: Release name is invalid: %s", name)
	}
	store := history.NewStore(u.cfg.Releases, u.cfg.Log)
	check := &lease.LockCheck{Store: store, Events: event.NewSink(u.OnEvent, nil), Release: name, Takeover: u.Takeover, Undo: u.undo}
	state, err := check.Run(ctx)
	if err == nil && errors.Is(state.Err, driver.ErrReleaseNotFound) {
		err = store.DeleteUnused(ctx, name)
	}
	switch {
	case err != nil:
		return nil, nil, err
	case state.Err != nil && u.IgnoreNotFound:
		return nil, nil, nil
	case state.Err != nil:
		return nil, nil, fmt.Errorf("uninstall: Release not loaded: %s: %w", name, state.Err)
	case len(state.History) == 0:
		return nil, nil, errors.New("no release provided")
	}
	target := uninstall.NewTarget(state)
	if target.Release.Info.Status != release.StatusUninstalled {
		return target, nil, nil
	}
	if u.KeepHistory {
		return nil, nil, fmt.Errorf("the release named %q is already deleted", name)
	}
	if err := target.Purge(store); err != nil {
		return nil, nil, err
	}
	return nil, &release.UninstallReleaseResponse{Release: target.Release}, nil
}

// isOrdered reports whether to uninstall the release in reverse order.
func (u *Uninstall) isOrdered(target *uninstall.Target) (bool, error) {
	if u.IgnoreOrder {
		return false, nil
	}
	return target.IsOrdered(u.Wait && u.WaitStrategy == WaitStrategyNone)
}

func (u *Uninstall) options(events *lifecycle.Operation, ordered bool) uninstall.Options {
	return uninstall.Options{
		Ordered: ordered, Wait: u.Wait || u.WaitStrategy == WaitStrategyOrdered, Timeout: u.Timeout, ReadinessTimeout: u.ReadinessTimeout,
		Propagation: u.DeletionPropagation, Spared: u.spared, KeepHistory: u.KeepHistory, Description: u.Description,
		DisableHooks: u.DisableHooks, Hooks: hooks.Options{Timeout: u.Timeout, Limit: u.MaxParallelHooks, FollowLogs: u.FollowHookLogs},
		Lifecycle: events,
	}
}

func perform(ctx context.Context, run *uninstall.Run) (*release.UninstallReleaseResponse, error) {
	if err := run.Prepare(ctx); err != nil {
		return nil, err
	}
	if err := run.Begin(ctx); err != nil {
		return nil, err
	}
	response, err := run.Perform(ctx)
	if err != nil {
		return response, run.Fail(ctx, err)
	}
	return run.Conclude()
}

// dryRun returns the release as it is stored. As in Helm, it checks nothing else.
func (u *Uninstall) dryRun(name string) (*release.UninstallReleaseResponse, error) {
	if err := chartutil.ValidateReleaseName(name); err != nil {
		return &release.UninstallReleaseResponse{}, fmt.Errorf("releaseContent: Release name is invalid: %s", name)
	}
	rel, err := u.cfg.Releases.Last(name)
	return &release.UninstallReleaseResponse{Release: rel}, err
}
