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
	op.Begin(Operation{Name: "uninstall", Release: name, Namespace: run.rel.Namespace, Revision: run.rel.Version, Ordered: ordered})
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

// propagation converts the field DeletionPropagation to Kubernetes' type, which says
// whether objects that are owned by a deleted object are deleted, too.
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
