// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"time"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/operation"
	"github.com/ordered-helm/helm/internal/preview"
	"github.com/ordered-helm/helm/internal/wait"
)

// Upgrade upgrades a release. It has every field of Helm's Upgrade, with the same meaning
// (docs/reference.md, "Upgrade").
type Upgrade struct {
	*helmaction.Upgrade

	// WaitStrategy, if not empty, takes precedence over the field Wait.
	WaitStrategy WaitStrategy
	// ReadinessTimeout is how long each resource with dependents may take to become ready.
	// 0 means ten seconds, or Timeout if that is shorter. It must not be longer than
	// Timeout. Resources can declare their own timeout.
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
}

// NewUpgrade returns an Upgrade with Helm's defaults.
func NewUpgrade(cfg *Configuration) *Upgrade {
	return &Upgrade{Upgrade: helmaction.NewUpgrade(cfg), cfg: cfg}
}

// Run is like RunWithContext with a context that is never cancelled.
func (u *Upgrade) Run(name string, chrt *chart.Chart, vals map[string]any) (*release.Release, error) {
	return u.RunWithContext(context.Background(), name, chrt, vals) //nolint:forbidigo // the signature is Helm's
}

// RunWithContext upgrades the release. When ctx is done, it stops, records the new revision
// as failed and returns; none of its work continues after that. If the upgrade fails after
// the new revision was recorded, RunWithContext returns the release together with the
// error.
func (u *Upgrade) RunWithContext(ctx context.Context, name string, chrt *chart.Chart, vals map[string]any) (*release.Release, error) {
	run, ctx, end, err := u.start(ctx, name, chrt, dryRunMode(u.DryRunOption, u.DryRun))
	if err != nil {
		return nil, err
	}
	defer end()
	rel, err := run.upgrade(ctx, chrt, vals)
	return rel, run.op.Finish(ctx, err)
}

// Preview returns what RunWithContext would do, without changing anything. It works like
// Install.Preview.
func (u *Upgrade) Preview(ctx context.Context, name string, chrt *chart.Chart, vals map[string]any) (*Preview, error) {
	run, ctx, end, err := u.start(ctx, name, chrt, previewing)
	if err != nil {
		return nil, err
	}
	defer end()
	p, err := run.preview(ctx, preview.NewBuilder(run.op, "upgrade"), chartloader.Copy(chrt), chartloader.CopyValues(vals))
	return p, run.op.Finish(ctx, err)
}

// start checks the options and starts an operation. It returns the run and the context for
// its steps, which in an ordered upgrade ends at the timeout. The caller must call end when
// the run is finished.
func (u *Upgrade) start(ctx context.Context, name string, chrt *chart.Chart, mode runMode) (run *upgradeRun, bounded context.Context, end func(), err error) {
	limits, err := u.validate(name, chrt, mode)
	if err != nil {
		return nil, nil, nil, err
	}
	op, ctx, end := operation.Start(ctx, u.cfg, operation.Options{Notify: u.OnEvent, Timeouts: limits, Bounded: u.ordered()})
	return &upgradeRun{action: u, mode: mode, op: op, name: name}, ctx, end, nil
}

// validate checks the options. The only request that it sends to the cluster checks whether
// the cluster is reachable.
func (u *Upgrade) validate(name string, chrt *chart.Chart, mode runMode) (wait.Timeouts, error) {
	if err := validateOptions(u.WaitStrategy, u.Takeover, u.MaxParallelHooks); err != nil {
		return wait.Timeouts{}, err
	}
	limits, err := newTimeouts(u.Timeout, u.ReadinessTimeout, u.ordered())
	if err != nil {
		return wait.Timeouts{}, err
	}
	if err := u.cfg.KubeClient.IsReachable(); err != nil {
		return wait.Timeouts{}, err
	}
	if err := chartutil.ValidateReleaseName(name); err != nil {
		return wait.Timeouts{}, fmt.Errorf("release name is invalid: %s", name)
	}
	if chrt == nil {
		return wait.Timeouts{}, errors.New("no chart provided")
	}
	return limits, mode.validateHideSecret(u.HideSecret)
}

func (u *Upgrade) ordered() bool { return u.WaitStrategy == WaitStrategyOrdered }

// values returns the values of the new revision: vals, combined with the values of the
// current revision as ResetValues, ReuseValues and ResetThenReuseValues require. With
// ReuseValues, it also replaces the default values in chrt.
func (u *Upgrade) values(chrt *chart.Chart, current *release.Release, vals map[string]any) (map[string]any, error) {
	switch {
	case u.ResetValues:
		u.cfg.Log("resetting values to the chart's original version")
	case u.ReuseValues:
		u.cfg.Log("reusing the old release's values")
		old, err := chartutil.CoalesceValues(current.Chart, current.Config)
		if err != nil {
			return nil, fmt.Errorf("failed to rebuild old values: %w", err)
		}
		vals, chrt.Values = chartutil.CoalesceTables(vals, current.Config), old
	case u.ResetThenReuseValues:
		u.cfg.Log("merging values from old release to new values")
		vals = chartutil.CoalesceTables(vals, current.Config)
	case len(vals) == 0 && len(current.Config) > 0:
		u.cfg.Log("copying values from %s (v%d) to new release.", current.Name, current.Version)
		vals = current.Config
	}
	return vals, nil
}

// labels returns the labels of the last revision, changed as the field Labels says. The
// value "null" removes a label.
func (u *Upgrade) labels(last *release.Release) map[string]string {
	labels := map[string]string{}
	for _, from := range []map[string]string{last.Labels, u.Labels} {
		for key, value := range from {
			labels[key] = value
		}
	}
	for key, value := range labels {
		if value == "null" {
			delete(labels, key)
		}
	}
	return labels
}
