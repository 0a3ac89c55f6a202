// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	kubefake "helm.sh/helm/v3/pkg/kube/fake"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordered-helm/helm/internal/hookrunner"
	"github.com/ordered-helm/helm/internal/render"
)

// Install installs a chart. It has every field of Helm's Install and means the
// same by it (docs/reference.md, "Install").
type Install struct {
	*helmaction.Install

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
	// Arrange says how a dry run with WaitStrategyOrdered writes the order down.
	Arrange Arrangement
	// OnEvent, if set, is told of every step, one at a time, from goroutines of
	// the operation. It must return soon.
	OnEvent func(Event)

	cfg *Configuration
	// previews is whether it is only said what would be done: as what would really
	// be done.
	previews bool
}

// NewInstall returns an Install with Helm's defaults.
func NewInstall(cfg *Configuration) *Install {
	return &Install{Install: helmaction.NewInstall(cfg), cfg: cfg}
}

// Run is RunWithContext without an end from outside.
func (i *Install) Run(chrt *chart.Chart, vals map[string]any) (*release.Release, error) {
	return i.RunWithContext(context.Background(), chrt, vals) //nolint:forbidigo // the signature is Helm's
}

// RunWithContext installs the chart. When ctx is done it stops, records the
// release as failed and returns; nothing of it goes on after that. A failure
// of what was started is returned with the release as it was recorded.
func (i *Install) RunWithContext(ctx context.Context, chrt *chart.Chart, vals map[string]any) (*release.Release, error) {
	limits, err := i.validate()
	if err != nil {
		return nil, err
	}
	earlier, err := i.claimName()
	if err != nil {
		return nil, err
	}
	base, ctx, end := startOperation(ctx, i.cfg, i.OnEvent, limits, i.ordered())
	defer end()
	if !i.dryRun() {
		base.begins(ctx, Operation{Name: "install", Release: i.ReleaseName, Namespace: i.Namespace, Revision: 1, Ordered: i.ordered()})
	}
	op := &installation{Install: i, operation: base, earlier: earlier}
	rel, err := op.run(ctx, chrt, vals)
	return rel, base.result(ctx, err)
}

func (i *Install) ordered() bool { return i.WaitStrategy == WaitStrategyOrdered }

// dryRun reports whether nothing is to be installed.
func (i *Install) dryRun() bool {
	if i.previews {
		return false
	}
	switch i.DryRunOption {
	case "client", "server", "true":
		return true
	}
	return i.DryRun
}

// looksUp reports whether templates may look objects up in the cluster.
func (i *Install) looksUp() bool {
	if i.previews {
		return true
	}
	switch i.DryRunOption {
	case "server", "none", "false":
		return true
	}
	return !i.dryRun()
}

// validate checks the options before anything is asked of the cluster.
func (i *Install) validate() (timeouts, error) {
	if err := i.WaitStrategy.validate(); err != nil {
		return timeouts{}, err
	}
	if err := checkParallelHooks(i.MaxParallelHooks); err != nil {
		return timeouts{}, err
	}
	limits, err := newTimeouts(i.Timeout, i.ReadinessTimeout, i.ordered())
	if err != nil {
		return timeouts{}, err
	}
	if !i.ClientOnly {
		if err := i.cfg.KubeClient.IsReachable(); err != nil {
			return timeouts{}, err
		}
	}
	if i.HideSecret && !i.dryRun() {
		return timeouts{}, errors.New("Hiding Kubernetes secrets requires a dry-run mode") //nolint:staticcheck // Helm's words
	}
	return limits, nil
}

// claimName checks that the release's name is valid and not in use. It gives the revisions
// of the release that is to be replaced; nil if there is none.
func (i *Install) claimName() (earlier []*release.Release, err error) {
	if err := chartutil.ValidateReleaseName(i.ReleaseName); err != nil {
		return nil, fmt.Errorf("release name %q: %w", i.ReleaseName, err)
	}
	if i.dryRun() {
		return nil, nil
	}
	history, err := readHistory(i.cfg, i.ReleaseName)
	last := newest(history)
	if err != nil || last == nil {
		return nil, err
	}
	status := last.Info.Status
	if i.Replace && (status == release.StatusUninstalled || status == release.StatusFailed) {
		return history, nil
	}
	inUse := errors.New("cannot re-use a name that is still in use")
	if h := HolderOf(last); h != nil {
		return nil, fmt.Errorf("%w: revision %d of release %s is %s, by %s, %s; if that is dead, an upgrade takes the release over",
			inUse, last.Version, i.ReleaseName, status, h, h.Age())
	}
	return nil, inUse
}

// readHistory reads the stored revisions. As in Helm there are none for who must not read
// them; the storage refuses to store the first one twice.
func readHistory(cfg *Configuration, name string) ([]*release.Release, error) {
	history, err := readRevisions(cfg.Releases, name)
	if errors.Is(err, driver.ErrReleaseNotFound) || apierrors.IsForbidden(err) {
		return nil, nil
	}
	return history, err
}

// newest gives the newest revision, or nil if there is none.
func newest(history []*release.Release) *release.Release {
	var last *release.Release
	for _, r := range history {
		if last == nil || r.Version > last.Version {
			last = r
		}
	}
	return last
}

// playCluster puts what imitates a cluster and a storage in place, for
// rendering without either.
func (i *Install) playCluster() {
	caps := chartutil.DefaultCapabilities.Copy()
	if i.KubeVersion != nil {
		caps.KubeVersion = *i.KubeVersion
	}
	caps.APIVersions = append(caps.APIVersions, i.APIVersions...)
	i.cfg.Capabilities = caps
	i.cfg.KubeClient = &kubefake.PrintingKubeClient{Out: io.Discard}
	memory := driver.NewMemory()
	memory.SetNamespace(i.Namespace)
	i.cfg.Releases = storage.Init(memory)
}

// Plan renders the chart and returns how it would deploy, without deploying anything (docs/reference.md, "helm dag").
func (i *Install) Plan(ctx context.Context, chrt *chart.Chart, vals map[string]any) (*Plan, error) {
	return i.planAs(ctx, chrt, vals, i.renderOptions())
}

// PlanRevision is Plan for a chart that is rendered as that revision of its release,
// as an upgrade: it can be compared with the plan of one that is installed.
func (i *Install) PlanRevision(ctx context.Context, chrt *chart.Chart, vals map[string]any, revision int) (*Plan, error) {
	o := i.renderOptions()
	o.release.Revision, o.release.IsInstall, o.release.IsUpgrade = revision, false, true
	return i.planAs(ctx, chrt, vals, o)
}

func (i *Install) planAs(ctx context.Context, chrt *chart.Chart, vals map[string]any, o renderOptions) (*Plan, error) {
	if !i.ClientOnly {
		if err := i.cfg.KubeClient.IsReachable(); err != nil {
			return nil, err
		}
	} else {
		i.playCluster()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := &rendering{cfg: i.cfg, renderOptions: o}
	r.planned = true
	if err := r.prepare(chrt, vals); err != nil {
		return nil, err
	}
	result, err := r.render()
	if err != nil {
		return nil, err
	}
	return &Plan{Plan: r.plan, Hooks: hookrunner.Plans(result.Hooks, render.HookModes(r.root, i.Namespace))}, nil
}
