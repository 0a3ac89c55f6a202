// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"fmt"
	"slices"
	"time"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/release"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/internal/lease"
	"github.com/ordered-helm/helm/internal/operation"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// Uninstall removes a release. It has every field of Helm's Uninstall and means
// the same by it. What was deployed in order is removed in reverse order
// (docs/reference.md, "Uninstall").
type Uninstall struct {
	*helmaction.Uninstall

	// WaitStrategy, if ordered, also waits until everything is gone.
	WaitStrategy WaitStrategy
	// IgnoreOrder removes everything at once, whatever the release remembers.
	IgnoreOrder bool
	// ReadinessTimeout is how long the objects of a node, and their pods, may take to be
	// gone where others wait for that; 0 is as long as Timeout allows.
	ReadinessTimeout time.Duration
	// MaxParallelHooks is how many hooks run at once, where the chart lets any run in
	// parallel; 0 is no limit. It must not be negative.
	MaxParallelHooks int
	// FollowHookLogs reads the log of each running hook about every second, and passes its
	// last line to OnEvent.
	FollowHookLogs bool
	// Takeover says what to do with a release that another operation works on, or did until
	// it died.
	Takeover Takeover
	// OnEvent, if set, is called with every step, one at a time, from goroutines of the
	// operation. It must return soon.
	OnEvent func(Event)

	cfg *Configuration
	// spared are objects to leave alone.
	spared map[sequencer.ID]bool
	// undo is the operation that this one undoes; nil if it undoes none.
	undo *lease.UndoTarget
}

// NewUninstall returns an Uninstall with Helm's defaults.
func NewUninstall(cfg *Configuration) *Uninstall {
	return &Uninstall{Uninstall: helmaction.NewUninstall(cfg), cfg: cfg}
}

// Run is RunWithContext with a context that never ends.
func (u *Uninstall) Run(name string) (*release.UninstallReleaseResponse, error) {
	return u.RunWithContext(context.Background(), name) //nolint:forbidigo // the signature is Helm's
}

// RunWithContext removes the release. When ctx is done it stops, records the release as
// failed and returns; nothing that it started goes on after that, and uninstalling the
// release again continues the removal.
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
	run := &uninstallRun{action: u}
	done, err := run.load(ctx, name)
	if err != nil || done {
		return run.response, err
	}
	ordered, err := run.isOrdered()
	if err != nil {
		return nil, err
	}
	op, ctx, end := operation.Start(ctx, u.cfg, operation.Options{Notify: u.OnEvent, Timeouts: limits, Bounded: ordered})
	defer end()
	run.op, run.removal = op, newRemoval(run, ordered)
	op.Begin(ctx, Operation{Name: "uninstall", Release: name, Namespace: run.rel.Namespace, Revision: run.rel.Version, Ordered: ordered})
	response, err := run.uninstall(ctx)
	return response, op.Finish(ctx, err)
}

// dryRun only checks that the release exists.
func (u *Uninstall) dryRun(name string) (*release.UninstallReleaseResponse, error) {
	if err := chartutil.ValidateReleaseName(name); err != nil {
		return &release.UninstallReleaseResponse{}, fmt.Errorf("releaseContent: Release name is invalid: %s", name)
	}
	rel, err := u.cfg.Releases.Last(name)
	return &release.UninstallReleaseResponse{Release: rel}, err
}

// propagation is how the dependents of an object are deleted with it.
func (u *Uninstall) propagation() metav1.DeletionPropagation {
	i := slices.Index([]string{"orphan", "foreground", "background"}, u.DeletionPropagation)
	if i < 0 {
		u.cfg.Log("uninstall: given cascade value: %s, defaulting to delete propagation background", u.DeletionPropagation)
		return metav1.DeletePropagationBackground
	}
	return []metav1.DeletionPropagation{
		metav1.DeletePropagationOrphan, metav1.DeletePropagationForeground, metav1.DeletePropagationBackground,
	}[i]
}
