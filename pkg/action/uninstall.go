// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/release"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/internal/sequencer"
)

// Uninstall removes a release. It has every field of Helm's Uninstall and means
// the same by it. What was deployed in order is removed in reverse order
// (docs/reference.md, "Uninstall").
type Uninstall struct {
	*helmaction.Uninstall

	// WaitStrategy, if ordered, also waits until all is gone.
	WaitStrategy WaitStrategy
	// IgnoreOrder removes everything at once, whatever the release says.
	IgnoreOrder bool
	// ReadinessTimeout is how long the objects of a node, and their pods, may take
	// to be gone where others wait for that; 0 is as long as Timeout allows.
	ReadinessTimeout time.Duration
	// MaxParallelHooks is how many hooks run at once, where the chart lets any run
	// in parallel; 0 is no limit. A negative one is refused.
	MaxParallelHooks int
	// FollowHookLogs reads the log of each hook that runs, about every second, and
	// tells OnEvent its last line.
	FollowHookLogs bool
	// Takeover says what becomes of a release that another operation works on, or did
	// until it died.
	Takeover Takeover
	// OnEvent, if set, is told of every step, one at a time, from goroutines of
	// the operation. It must return soon.
	OnEvent func(Event)

	cfg *Configuration
	// spared are objects to leave alone.
	spared map[sequencer.ID]bool
	// undoes is as in inquiry.
	undoes *undone
}

// NewUninstall returns an Uninstall with Helm's defaults.
func NewUninstall(cfg *Configuration) *Uninstall {
	return &Uninstall{Uninstall: helmaction.NewUninstall(cfg), cfg: cfg}
}

// Run is RunWithContext without an end from outside.
func (u *Uninstall) Run(name string) (*release.UninstallReleaseResponse, error) {
	return u.RunWithContext(context.Background(), name) //nolint:forbidigo // the signature is Helm's
}

// RunWithContext removes the release. When ctx is done it stops, records the
// release as failed and returns; nothing of it goes on after that, and
// uninstalling it again carries on.
func (u *Uninstall) RunWithContext(ctx context.Context, name string) (*release.UninstallReleaseResponse, error) {
	if err := u.WaitStrategy.validate(); err != nil {
		return nil, err
	}
	if err := errors.Join(u.Takeover.validate(), checkParallelHooks(u.MaxParallelHooks)); err != nil {
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
		return u.look(name)
	}
	op := &uninstallation{Uninstall: u}
	done, err := op.load(ctx, name)
	if err != nil || done {
		return op.response, err
	}
	if op.prior, err = op.order(); err != nil {
		return nil, err
	}
	base, ctx, end := startOperation(ctx, u.cfg, u.OnEvent, limits, op.ordered())
	defer end()
	op.operation = base
	base.begins(ctx, Operation{Name: "uninstall", Release: name, Namespace: op.rel.Namespace, Revision: op.rel.Version, Ordered: op.ordered()})
	response, err := op.run(ctx)
	return response, base.result(ctx, err)
}

// look only checks that the release exists.
func (u *Uninstall) look(name string) (*release.UninstallReleaseResponse, error) {
	if err := chartutil.ValidateReleaseName(name); err != nil {
		return &release.UninstallReleaseResponse{}, fmt.Errorf("releaseContent: Release name is invalid: %s", name)
	}
	rel, err := u.cfg.Releases.Last(name)
	return &release.UninstallReleaseResponse{Release: rel}, err
}

// propagation is how what an object owns is deleted with it.
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
