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

	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/hooks"
	"github.com/ordered-helm/helm/internal/lease"
	"github.com/ordered-helm/helm/internal/operation"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/uninstall"
)

// Uninstall uninstalls a release. It has every field of Helm's Uninstall, with the same
// meaning. A release that was deployed in order is uninstalled in reverse order
// (docs/reference.md, "Uninstall").
type Uninstall struct {
	*helmaction.Uninstall

	// WaitStrategy, if WaitStrategyOrdered, also makes the uninstall wait until all objects
	// are deleted.
	WaitStrategy WaitStrategy
	// IgnoreOrder deletes all objects at the same time, even if the release was deployed in
	// order.
	IgnoreOrder bool
	// ReadinessTimeout is how long the deletion of the objects of a node, and of their
	// pods, may take if the deletion of other nodes waits for it. 0 means until Timeout
	// expires.
	ReadinessTimeout time.Duration
	// MaxParallelHooks is the maximum number of hooks that run at the same time, if the
	// chart lets hooks run in parallel. 0 means no limit. It must not be negative.
	MaxParallelHooks int
	// FollowHookLogs reads the log of each running hook about once a second and passes its
	// last line to OnEvent.
	FollowHookLogs bool
	// Takeover says what to do if another operation is working on the release, or
	// terminated unexpectedly while it did. An empty value means TakeoverAuto.
	Takeover Takeover
	// OnEvent, if set, is called for every step of the operation. It is called from
	// different goroutines, but never concurrently. It must return quickly.
	OnEvent func(Event)

	cfg *Configuration
	// spared contains objects that must not be deleted. The uninstall of --atomic sets it
	// to the objects that existed before the install without belonging to the release.
	spared map[sequencer.ID]bool
	// undo is the failed install that this uninstall undoes because of --atomic; otherwise
	// nil.
	undo *lease.UndoTarget
}

// NewUninstall returns an Uninstall with Helm's defaults.
func NewUninstall(cfg *Configuration) *Uninstall {
	return &Uninstall{Uninstall: helmaction.NewUninstall(cfg), cfg: cfg}
}

// Run is like RunWithContext with a context that is never cancelled.
func (u *Uninstall) Run(name string) (*release.UninstallReleaseResponse, error) {
	return u.RunWithContext(context.Background(), name) //nolint:forbidigo // the signature is Helm's
}

// RunWithContext uninstalls the release. When ctx is done, it stops, records the release as
// failed and returns; none of its work continues after that. Call RunWithContext again to
// delete the remaining objects.
func (u *Uninstall) RunWithContext(ctx context.Context, name string) (*release.UninstallReleaseResponse, error) {
	if err := validateOptions(u.WaitStrategy, u.Takeover, u.MaxParallelHooks); err != nil {
		return nil, err
	}
	limits, err := newTimeouts(u.Timeout, u.ReadinessTimeout, u.WaitStrategy == WaitStrategyOrdered)
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
	op, ctx, end := operation.Start(ctx, u.cfg, operation.Options{Notify: u.OnEvent, Timeouts: limits, Bounded: ordered})
	defer end()
	op.Begin(Operation{Name: "uninstall", Release: name, Namespace: target.Release.Namespace, Revision: target.Release.Version, Ordered: ordered})
	response, err = perform(ctx, uninstall.New(op, target, u.options(ordered)))
	return response, op.Finish(ctx, err)
}

// load reads the release and checks that no other operation works on it. If there is
// nothing to uninstall, the target is nil: the release does not exist and IgnoreNotFound is
// set, or it was already uninstalled and load deleted its stored revisions.
func (u *Uninstall) load(ctx context.Context, name string) (*uninstall.Target, *release.UninstallReleaseResponse, error) {
	if err := chartutil.ValidateReleaseName(name); err != nil {
		return nil, nil, fmt.Errorf("uninstall: Release name is invalid: %s", name)
	}
	store := history.NewStore(u.cfg.Releases, u.cfg.Log)
	check := &lease.Check{Store: store, Events: event.NewSink(u.OnEvent, nil), Release: name, Takeover: u.Takeover, Undo: u.undo}
	state, err := check.Run(ctx)
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

// isOrdered reports whether the release is uninstalled in reverse order.
func (u *Uninstall) isOrdered(target *uninstall.Target) (bool, error) {
	if u.IgnoreOrder {
		return false, nil
	}
	return target.IsOrdered(u.Wait && u.WaitStrategy == WaitStrategyNone)
}

func (u *Uninstall) options(ordered bool) uninstall.Options {
	return uninstall.Options{
		Ordered: ordered, Wait: u.Wait || u.WaitStrategy == WaitStrategyOrdered, Timeout: u.Timeout, ReadinessTimeout: u.ReadinessTimeout,
		Propagation: u.DeletionPropagation, Spared: u.spared, KeepHistory: u.KeepHistory, Description: u.Description,
		DisableHooks: u.DisableHooks, Hooks: hooks.Options{Timeout: u.Timeout, Limit: u.MaxParallelHooks, FollowLogs: u.FollowHookLogs},
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

// dryRun only checks that the release exists.
func (u *Uninstall) dryRun(name string) (*release.UninstallReleaseResponse, error) {
	if err := chartutil.ValidateReleaseName(name); err != nil {
		return &release.UninstallReleaseResponse{}, fmt.Errorf("releaseContent: Release name is invalid: %s", name)
	}
	rel, err := u.cfg.Releases.Last(name)
	return &release.UninstallReleaseResponse{Release: rel}, err
}
