// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"slices"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"helm.sh/helm/v3/pkg/storage/driver"
	helmtime "helm.sh/helm/v3/pkg/time"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/internal/cluster"
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
	// OnEvent, if set, is told of every step, one at a time, from goroutines of
	// the operation. It must return soon.
	OnEvent func(Event)

	cfg *Configuration
}

// NewUninstall returns an Uninstall with Helm's defaults.
func NewUninstall(cfg *Configuration) *Uninstall {
	return &Uninstall{Uninstall: helmaction.NewUninstall(cfg), cfg: cfg}
}

// Run is RunWithContext without an end from outside.
func (u *Uninstall) Run(name string) (*release.UninstallReleaseResponse, error) {
	return u.RunWithContext(context.Background(), name) //nolint:forbidigo // the signature is Helm's
}

// RunWithContext removes the release. When ctx is done it stops and returns;
// nothing of it goes on after that, the release stays recorded as being
// uninstalled, and uninstalling it again carries on.
func (u *Uninstall) RunWithContext(ctx context.Context, name string) (*release.UninstallReleaseResponse, error) {
	if err := u.WaitStrategy.validate(); err != nil {
		return nil, err
	}
	if err := u.cfg.KubeClient.IsReachable(); err != nil {
		return nil, err
	}
	if u.DryRun {
		return u.look(name)
	}
	op := &uninstallation{Uninstall: u, events: newEvents(u.OnEvent)}
	op.cluster = openCluster(ctx, u.cfg)
	done, err := op.load(name)
	if err != nil || done {
		return op.response, err
	}
	return op.run(ctx)
}

// look only checks that the release exists.
func (u *Uninstall) look(name string) (*release.UninstallReleaseResponse, error) {
	if err := chartutil.ValidateReleaseName(name); err != nil {
		return &release.UninstallReleaseResponse{}, fmt.Errorf("releaseContent: Release name is invalid: %s", name)
	}
	rel, err := u.cfg.Releases.Last(name)
	return &release.UninstallReleaseResponse{Release: rel}, err
}

// uninstallation is one run of an Uninstall.
type uninstallation struct {
	*Uninstall
	cluster *cluster.Client
	events  *events

	history  []*release.Release
	rel      *release.Release
	removal  *removal
	response *release.UninstallReleaseResponse
}

// load reads the release. It is done already where there is nothing to remove.
func (op *uninstallation) load(name string) (done bool, err error) {
	if err := chartutil.ValidateReleaseName(name); err != nil {
		return false, fmt.Errorf("uninstall: Release name is invalid: %s", name)
	}
	op.history, err = op.cfg.Releases.History(name)
	if err != nil {
		if op.IgnoreNotFound {
			return true, nil
		}
		return false, fmt.Errorf("uninstall: Release not loaded: %s: %w", name, err)
	}
	if len(op.history) == 0 {
		return false, errors.New("no release provided")
	}
	releaseutil.SortByRevision(op.history)
	op.rel = op.history[len(op.history)-1]
	if op.rel.Info.Status != release.StatusUninstalled {
		return false, nil
	}
	if op.KeepHistory {
		return false, fmt.Errorf("the release named %q is already deleted", name)
	}
	if err := op.purge(); err != nil {
		return false, fmt.Errorf("uninstall: Failed to purge the release: %w", err)
	}
	op.response = &release.UninstallReleaseResponse{Release: op.rel}
	return true, nil
}

func (op *uninstallation) run(ctx context.Context) (*release.UninstallReleaseResponse, error) {
	var err error
	if op.removal, err = op.planRemoval(); err != nil {
		return nil, err
	}
	op.cfg.Log("uninstall: Deleting %s", op.rel.Name)
	if op.removal.ordered() {
		op.events.emit(Event{Type: EventPlanned, Message: "removing " + extent(op.removal.plan) + ", in reverse order"})
	}
	op.rel.Info.Status = release.StatusUninstalling
	op.rel.Info.Deleted = helmtime.Now()
	op.rel.Info.Description = "Deletion in progress (or silently failed)"
	op.response = &release.UninstallReleaseResponse{Release: op.rel}
	hooks := &hookRun{cfg: op.cfg, cluster: op.cluster, events: op.events, rel: op.rel, timeout: op.Timeout}
	if op.DisableHooks {
		op.cfg.Log("delete hooks disabled for %s", op.rel.Name)
	} else if err := hooks.run(ctx, release.HookPreDelete); err != nil {
		return op.response, err
	}
	op.store(op.rel)
	if err := op.remove(ctx); err != nil {
		return nil, err
	}
	var errs []error
	if op.Wait {
		if err := op.cluster.WaitDeleted(ctx, op.removal.deleted(), op.Timeout); err != nil {
			errs = append(errs, err)
		}
	}
	if !op.DisableHooks {
		if err := hooks.run(ctx, release.HookPostDelete); err != nil {
			errs = append(errs, err)
		}
	}
	if err := context.Cause(ctx); err != nil {
		return op.response, err
	}
	return op.conclude(errs)
}

// remove deletes what the release consists of. If it fails, the release stays
// recorded.
func (op *uninstallation) remove(ctx context.Context) error {
	defer op.removal.close()
	err := op.removal.run(ctx)
	if err == nil {
		if kept := op.removal.kept(); kept != "" {
			op.response.Info = "These resources were kept due to the resource policy:\n" + kept
		}
		return nil
	}
	op.cfg.Log("uninstall: Failed to delete release: %s", err)
	if !op.removal.ordered() {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return fmt.Errorf("failed to delete release: %s", op.rel.Name)
	}
	op.rel.Info.Description = fmt.Sprintf("Uninstall failed: %s", err)
	op.store(op.rel)
	return fmt.Errorf("failed to delete release: %s: %w", op.rel.Name, err)
}

// conclude records the end of the release, or forgets it.
func (op *uninstallation) conclude(errs []error) (*release.UninstallReleaseResponse, error) {
	op.rel.Info.Status = release.StatusUninstalled
	op.rel.Info.Description = op.Description
	if op.Description == "" {
		op.rel.Info.Description = "Uninstallation complete"
	}
	if op.KeepHistory {
		op.store(op.rel)
		if err := op.supersede(); err != nil {
			return nil, err
		}
	} else {
		op.cfg.Log("purge requested for %s", op.rel.Name)
		if err := op.purge(); err != nil {
			errs = append(errs, fmt.Errorf("uninstall: Failed to purge the release: %w", err))
		}
	}
	if len(errs) > 0 {
		return op.response, fmt.Errorf("uninstallation completed with %d error(s): %s", len(errs), joined(errs))
	}
	return op.response, nil
}

// supersede leaves no revision that is recorded as deployed.
func (op *uninstallation) supersede() error {
	deployed, err := op.cfg.Releases.DeployedAll(op.rel.Name)
	if err != nil && !errors.Is(err, driver.ErrNoDeployedReleases) {
		return err
	}
	for _, r := range deployed {
		r.Info.Status = release.StatusSuperseded
		op.store(r)
	}
	return nil
}

func (op *uninstallation) store(rel *release.Release) {
	if err := op.cfg.Releases.Update(rel); err != nil {
		op.cfg.Log("uninstall: Failed to store updated release: %s", err)
	}
}

func (op *uninstallation) purge() error {
	for _, r := range op.history {
		if _, err := op.cfg.Releases.Delete(r.Name, r.Version); err != nil {
			return err
		}
	}
	return nil
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
