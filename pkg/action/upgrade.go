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
	"github.com/ordered-helm/helm/internal/lifecycle"
	"github.com/ordered-helm/helm/internal/operation"
	"github.com/ordered-helm/helm/internal/orderfile"
	"github.com/ordered-helm/helm/internal/planner"
	"github.com/ordered-helm/helm/internal/preview"
	"github.com/ordered-helm/helm/internal/wait"
)

// Upgrade upgrades a release to a new revision. It has every field of Helm's Upgrade, with
// the same meaning (docs/reference.md, "Upgrade").
type Upgrade struct {
	*helmaction.Upgrade

	// WaitStrategy, if WaitStrategyOrdered, makes the upgrade follow the order that the
	// charts declare, and wait until all resources are ready. It then takes precedence over
	// the field Wait.
	WaitStrategy WaitStrategy
	// AllowIgnoredOrder makes an ordered upgrade only warn about declarations in the root chart
	// that have no effect, as it does about those in subcharts. Otherwise, they are an error
	// (docs/reference.md, "Chart.yaml").
	AllowIgnoredOrder bool
	// IgnoreJobs makes an ordered upgrade not wait for Jobs without dependents. It is like
	// --wait-for-jobs=false, and cannot be combined with WaitForJobs.
	IgnoreJobs bool
	// ReadinessTimeout is the time that each resource on which others depend may take to
	// become ready after it was applied. It is used only in an ordered upgrade. An
	// annotation of the resource takes precedence. 0 means no limit, except that resources
	// other than Jobs must not stand still for ten seconds, or Timeout if that is shorter.
	// A negative value, or one longer than Timeout, is an error (docs/reference.md,
	// "Time").
	ReadinessTimeout time.Duration
	// RecreateObjects is like --recreate (docs/reference.md, "Objects that cannot be changed in place").
	RecreateObjects []string
	// MaxParallelHooks is the maximum number of hooks that run at the same time, if a chart
	// allows its hooks to run in parallel. 0 means no limit. A negative value is an error.
	MaxParallelHooks int
	// FollowHookLogs makes the operation read the log of each running hook about once a
	// second, and report its last line in an event of type EventHookLog.
	FollowHookLogs bool
	// OrderFile is an order file that applies in addition to those of the charts, and before them; nil if there
	// is none. It requires WaitStrategyOrdered. If it is nil and ReuseOrder is set, the OrderFile of the current
	// revision is used (docs/reference.md, "Order files").
	OrderFile  *OrderFile
	ReuseOrder bool
	// OnlyIfChanged makes RunWithContext create no revision and run no hooks if nothing would change. It then returns
	// the last revision, and sets Unchanged (docs/reference.md, "Upgrading only if something changed").
	OnlyIfChanged bool
	// Unchanged is set by RunWithContext.
	Unchanged bool
	// Takeover says what to do if another operation has locked the release and may have
	// terminated unexpectedly. An empty value means TakeoverAuto. If the release is not
	// taken over, the error is a *HeldError (docs/reference.md, "Release locks").
	Takeover Takeover
	// CRDs says what to do with the CustomResourceDefinitions in crds/ directories
	// (docs/reference.md, "CRDs in crds/ directories"). If it is empty, they are left alone.
	CRDs CRDPolicy
	// OnEvent, if not nil, is called with each event of the operation (docs/reference.md,
	// "Events"). It is called from different goroutines, but never concurrently. It must
	// return quickly, because the operation waits for it.
	OnEvent func(Event)
	// Lifecycle contains handlers of the events of the operation; nil if there are none
	// (docs/reference.md, "Lifecycle events").
	Lifecycle *lifecycle.Emitter
	ScriptOptions

	cfg *Configuration
	// savedPlan is the plan that is executed; nil if there is none.
	savedPlan *SavedPlan
}

// NewUpgrade returns an Upgrade with Helm's defaults.
func NewUpgrade(cfg *Configuration) *Upgrade {
	return &Upgrade{Upgrade: helmaction.NewUpgrade(cfg), cfg: cfg}
}

// Run is like RunWithContext with a context that is never canceled.
func (u *Upgrade) Run(name string, chrt *chart.Chart, vals map[string]any) (*release.Release, error) {
	return u.RunWithContext(context.Background(), name, chrt, vals) //nolint:forbidigo // the signature is Helm's
}

// RunWithContext upgrades the release with the given name to chrt, with the values vals,
// and returns the new revision. A dry run returns the rendered revision and changes
// nothing.
//
// When ctx is done, RunWithContext stops, records the new revision as failed and returns an
// error that wraps the cause of ctx. None of its work continues after it has returned. If
// the upgrade fails after the new revision was stored, RunWithContext returns both the
// revision and the error, for example a *DeployError, *RemovalError or *HookError
// (docs/reference.md, "SDK").
func (u *Upgrade) RunWithContext(ctx context.Context, name string, chrt *chart.Chart, vals map[string]any) (*release.Release, error) {
	run, ctx, end, err := u.start(ctx, name, chrt, dryRunMode(u.DryRunOption, u.DryRun))
	if err != nil {
		return nil, err
	}
	defer end()
	rel, err := run.upgrade(ctx, chrt, vals)
	return rel, run.op.Finish(ctx, err)
}

// Preview returns what RunWithContext would do (docs/reference.md, "helm plan"). It changes
// no object, runs no hook and stores no revision. If RunWithContext would fail before it
// changes anything, Preview returns the same error. Objects that the server would reject
// are no error, but part of the preview. Preview ignores the fields DryRun and
// DryRunOption, and does not modify chrt and vals.
func (u *Upgrade) Preview(ctx context.Context, name string, chrt *chart.Chart, vals map[string]any) (*Preview, error) {
	run, ctx, end, err := u.start(ctx, name, chrt, previewing)
	if err != nil {
		return nil, err
	}
	defer end()
	p, err := run.preview(ctx, preview.NewBuilder(run.op, "upgrade"), chartloader.Copy(chrt), chartloader.CopyValues(vals))
	return p, run.op.Finish(ctx, err)
}

// start checks the options and starts an operation. It returns the run, and the context for
// its steps. In an ordered upgrade, this context also ends when Timeout expires. The caller
// must call end when the run has finished.
func (u *Upgrade) start(ctx context.Context, name string, chrt *chart.Chart, mode runMode) (run *upgradeRun, bounded context.Context, end func(), err error) {
	policy, err := u.CRDs.Resolve(u.SkipCRDs)
	if err != nil {
		return nil, nil, nil, err
	}
	limits, err := u.validate(name, chrt, mode)
	if err != nil {
		return nil, nil, nil, err
	}
	op, ctx, endOperation := operation.Start(ctx, u.cfg, operation.StartOptions{Notify: u.OnEvent, Timeouts: limits, Bounded: u.isOrdered()})
	run = &upgradeRun{action: u, mode: mode, op: op, crds: policy, name: name, output: &scriptOutput{events: op.Events, isHeld: true}}
	return run, ctx, func() { run.planner.Close(); endOperation() }, nil
}

// validate checks the options, and that the cluster is reachable. It returns the timeouts.
func (u *Upgrade) validate(name string, chrt *chart.Chart, mode runMode) (wait.Timeouts, error) {
	if err := errors.Join(validateOptions(u.WaitStrategy, u.Takeover, u.MaxParallelHooks, u.RecreateObjects...), validateJobs(u.WaitForJobs, u.IgnoreJobs), u.OrderFile.Validate(u.isOrdered())); err != nil {
		return wait.Timeouts{}, err
	}
	limits, err := operation.NewTimeouts(u.Timeout, u.ReadinessTimeout, u.isOrdered())
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

func (u *Upgrade) isOrdered() bool { return u.WaitStrategy == WaitStrategyOrdered }

// values returns the values of the new revision: vals, combined with the values of the
// current revision as the fields ResetValues, ReuseValues and ResetThenReuseValues require.
// If ReuseValues is set, it also replaces the default values in chrt with those of the
// current revision.
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

// labels returns the labels of the last revision, with the changes in the field Labels. A
// label whose new value is "null" is removed.
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

// OrderFile is an order file that is given for an operation, in addition to those of the charts
// (docs/reference.md, "Order files").
type OrderFile = orderfile.Given

// orderFile returns the order file that applies to the upgrade; nil if there is none. It warns if the upgrade drops
// that of the current revision.
func (r *upgradeRun) orderFile() (*OrderFile, error) {
	u := r.action
	if u.OrderFile != nil || !u.isOrdered() {
		return u.OrderFile, nil
	}
	file, dropped, err := planner.PreviousOrderFile(r.current, u.ReuseOrder)
	if dropped != "" {
		r.op.Events.Warn(dropped)
	}
	return file, explainUnusableRecord(err)
}
