// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"io"

	"helm.sh/helm/v3/pkg/chartutil"
	kubefake "helm.sh/helm/v3/pkg/kube/fake"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/lease"
	"github.com/ordered-helm/helm/internal/operation"
	"github.com/ordered-helm/helm/internal/wait"
)

// start checks the options and the name of the release, and starts an operation. It returns
// the run, and the context for its steps. In an ordered install, this context also ends
// when Timeout expires. The caller must call end when the run has finished.
func (i *Install) start(ctx context.Context, mode runMode) (run *installRun, bounded context.Context, end func(), err error) {
	policy, err := i.CRDs.Resolve(i.SkipCRDs)
	if err != nil {
		return nil, nil, nil, err
	}
	limits, err := i.validate(mode)
	if err != nil {
		return nil, nil, nil, err
	}
	replaced, err := i.checkNameIsFree(mode)
	if err != nil {
		return nil, nil, nil, err
	}
	if i.ClientOnly {
		i.useFakeCluster()
	}
	op, ctx, endOperation := operation.Start(ctx, i.cfg, operation.StartOptions{
		Notify: i.OnEvent, Timeouts: limits, Bounded: i.isOrdered(), NoCluster: i.ClientOnly,
	})
	run = &installRun{action: i, mode: mode, op: op, crds: policy, replaced: replaced, output: &scriptOutput{events: op.Events, isHeld: true}}
	return run, ctx, func() { run.planner.Close(); endOperation() }, nil
}

// validate checks the options, and returns the timeouts. Unless ClientOnly is set, it also
// checks that the cluster is reachable.
func (i *Install) validate(mode runMode) (wait.Timeouts, error) {
	if err := errors.Join(validateOptions(i.WaitStrategy, TakeoverAuto, i.MaxParallelHooks), validateJobs(i.WaitForJobs, i.IgnoreJobs), i.OrderFile.Validate(i.isOrdered())); err != nil {
		return wait.Timeouts{}, err
	}
	limits, err := operation.NewTimeouts(i.Timeout, i.ReadinessTimeout, i.isOrdered())
	if err != nil {
		return wait.Timeouts{}, err
	}
	if err := i.checkReachable(); err != nil {
		return wait.Timeouts{}, err
	}
	return limits, mode.validateHideSecret(i.HideSecret)
}

func (i *Install) checkReachable() error {
	if i.ClientOnly {
		return nil
	}
	return i.cfg.KubeClient.IsReachable()
}

// checkNameIsFree checks that the name of the release is valid and not in use. If Replace
// is set and the name belongs to an uninstalled or failed release, it returns the revisions
// of that release, otherwise nil. In a dry run, it checks only whether the name is valid.
func (i *Install) checkNameIsFree(mode runMode) (replaced []*release.Release, err error) {
	if err := chartutil.ValidateReleaseName(i.ReleaseName); err != nil {
		return nil, fmt.Errorf("release name %q: %w", i.ReleaseName, err)
	}
	if mode.isDryRun() {
		return nil, nil
	}
	revisions, err := history.NewStore(i.cfg.Releases, i.cfg.Log).ReadIfAllowed(i.ReleaseName)
	if i.savedPlan != nil && err == nil {
		err = i.savedPlan.CheckRelease(revisions)
	}
	last := history.Newest(revisions)
	if err != nil || last == nil {
		return nil, err
	}
	status := last.Info.Status
	if i.Replace && (status == release.StatusUninstalled || status == release.StatusFailed) {
		return revisions, nil
	}
	inUse := errors.New("cannot re-use a name that is still in use")
	if h := lease.HolderOf(last); h != nil {
		return nil, fmt.Errorf("%w: revision %d of release %s is %s, by %s, %s; if it is no longer alive, an upgrade takes over the release",
			inUse, last.Version, i.ReleaseName, status, h, h.Age())
	}
	return nil, inUse
}

// useFakeCluster replaces the Kubernetes client and the release storage in the
// configuration with fakes that need no cluster, as Helm does for ClientOnly. The
// capabilities are those in the fields KubeVersion and APIVersions, or Helm's defaults.
func (i *Install) useFakeCluster() {
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
