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
)

// Upgrade upgrades a release. It has every field of Helm's Upgrade and means the
// same by it (docs/reference.md, "Upgrade").
type Upgrade struct {
	*helmaction.Upgrade

	// WaitStrategy, if set, wins over the field Wait.
	WaitStrategy WaitStrategy
	// ReadinessTimeout is how long each resource may take to get ready before
	// what depends on it is given up; 0 is ten seconds, cut down to Timeout.
	// One above Timeout is refused. Resources may say otherwise themselves.
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
	// previews is whether it is only said what would be done: as what would really
	// be done.
	previews bool
}

// NewUpgrade returns an Upgrade with Helm's defaults.
func NewUpgrade(cfg *Configuration) *Upgrade {
	return &Upgrade{Upgrade: helmaction.NewUpgrade(cfg), cfg: cfg}
}

// Run is RunWithContext without an end from outside.
func (u *Upgrade) Run(name string, chrt *chart.Chart, vals map[string]any) (*release.Release, error) {
	return u.RunWithContext(context.Background(), name, chrt, vals) //nolint:forbidigo // the signature is Helm's
}

// RunWithContext upgrades the release. When ctx is done it stops, records the new
// revision as failed and returns; nothing of it goes on after that. A failure of
// what was started is returned with the release as it was recorded.
func (u *Upgrade) RunWithContext(ctx context.Context, name string, chrt *chart.Chart, vals map[string]any) (*release.Release, error) {
	limits, err := u.validate(name, chrt)
	if err != nil {
		return nil, err
	}
	base, ctx, end := startOperation(ctx, u.cfg, u.OnEvent, limits, u.ordered())
	defer end()
	op := &upgrading{Upgrade: u, operation: base, name: name}
	rel, err := op.run(ctx, chrt, vals)
	return rel, base.result(ctx, err)
}

// validate checks the options before anything is asked of the cluster, but whether
// it can be reached.
func (u *Upgrade) validate(name string, chrt *chart.Chart) (timeouts, error) {
	if err := u.WaitStrategy.validate(); err != nil {
		return timeouts{}, err
	}
	if err := errors.Join(u.Takeover.validate(), checkParallelHooks(u.MaxParallelHooks)); err != nil {
		return timeouts{}, err
	}
	limits, err := newTimeouts(u.Timeout, u.ReadinessTimeout, u.ordered())
	if err != nil {
		return timeouts{}, err
	}
	if err := u.cfg.KubeClient.IsReachable(); err != nil {
		return timeouts{}, err
	}
	u.Wait = u.Wait || u.Atomic
	if err := chartutil.ValidateReleaseName(name); err != nil {
		return timeouts{}, fmt.Errorf("release name is invalid: %s", name)
	}
	if chrt == nil {
		return timeouts{}, errors.New("no chart provided")
	}
	if !u.dryRun() && u.HideSecret {
		return timeouts{}, errors.New("Hiding Kubernetes secrets requires a dry-run mode") //nolint:staticcheck // Helm's words
	}
	return limits, nil
}

func (u *Upgrade) ordered() bool { return u.WaitStrategy == WaitStrategyOrdered }

// dryRun reports whether nothing is to be changed.
func (u *Upgrade) dryRun() bool {
	if u.previews {
		return false
	}
	switch u.DryRunOption {
	case "client", "server", "true":
		return true
	}
	return u.DryRun
}

// looksUp reports whether templates may look objects up in the cluster.
func (u *Upgrade) looksUp() bool {
	if u.previews {
		return true
	}
	switch u.DryRunOption {
	case "server", "none", "false":
		return true
	}
	return !u.dryRun()
}

// values combines the values given with those of the revision before, as the
// options say, into those of the new revision. It may change the chart's own.
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

// labels are those of the last revision with those given; "null" takes one away.
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
