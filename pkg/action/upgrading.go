// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/hookrunner"
	"github.com/ordered-helm/helm/internal/releaserecord"
	"github.com/ordered-helm/helm/internal/render"
)

// upgrading is one run of an Upgrade.
type upgrading struct {
	*Upgrade
	*operation
	name string

	found   *found
	history []*release.Release
	// last is the newest revision, current the one that Helm compares with.
	last, current *release.Release
	rendering     rendering
	rel           *release.Release
	deployment    *deployment
	// foreseen is as in deployOptions.
	foreseen map[schema.GroupKind]bool
}

func (op *upgrading) run(ctx context.Context, chrt *chart.Chart, vals map[string]any) (*release.Release, error) {
	op.operation.cfg.Log("preparing upgrade for %s", op.name)
	if err := op.load(ctx); err != nil {
		return nil, err
	}
	if !op.dryRun() {
		op.begins(ctx, Operation{Name: "upgrade", Release: op.name, Namespace: op.current.Namespace, Revision: op.last.Version + 1, Ordered: op.ordered()})
	}
	if err := op.render(chrt, vals); err != nil {
		return nil, err
	}
	if err := op.definitionHooks(ctx); err != nil {
		return nil, err
	}
	if rel, err := op.build(ctx); err != nil {
		return rel, err
	}
	if op.dryRun() {
		op.rel.Info.Description = op.description("Dry run complete")
		return op.rel, nil
	}
	if err := op.begin(ctx); err != nil {
		return nil, err
	}
	if err := op.deployment.perform(ctx); err != nil {
		return op.fail(ctx, op.deployment.failed(ctx, err))
	}
	return op.rel, op.conclude()
}

// load reads the release and finds what it is upgraded from.
func (op *upgrading) load(ctx context.Context) error {
	inquiry := &inquiry{
		cfg: op.operation.cfg, events: op.events, name: op.name, takeover: op.Takeover, dry: op.dryRun() || op.previews, helm: op.pending,
	}
	var err error
	if op.found, err = inquiry.run(ctx); err != nil {
		return err
	}
	op.history, err = op.found.history, op.found.err
	if errors.Is(err, driver.ErrReleaseNotFound) || err == nil && len(op.history) == 0 {
		return driver.NewErrNoDeployedReleases(op.name)
	}
	if err != nil {
		return err
	}
	op.last = newest(op.history)
	for _, rel := range op.history {
		if rel.Info.Status == release.StatusDeployed && (op.current == nil || rel.Version > op.current.Version) {
			op.current = rel
		}
	}
	if op.current == nil {
		switch op.last.Info.Status {
		case release.StatusFailed, release.StatusSuperseded:
			op.current = op.last
		default:
			return driver.NewErrNoDeployedReleases(op.name)
		}
	}
	return nil
}

// pending is what Helm says of a release that is being changed.
func (op *upgrading) pending(status release.Status) error {
	if status.IsPending() {
		return errPending
	}
	return driver.NewErrNoDeployedReleases(op.name)
}

var errPending = errors.New("another operation (install/upgrade/rollback) is in progress")

// render renders the new revision.
func (op *upgrading) render(chrt *chart.Chart, vals map[string]any) error {
	chrt, err := releaserecord.WithRecord(chrt, nil)
	if err != nil {
		return err
	}
	if vals, err = op.values(chrt, op.current, vals); err != nil {
		return err
	}
	revision := op.last.Version + 1
	op.rendering = rendering{cfg: op.operation.cfg, renderOptions: renderOptions{
		release: chartutil.ReleaseOptions{Name: op.name, Namespace: op.current.Namespace, Revision: revision, IsUpgrade: true},
		ordered: op.ordered(), dryRun: op.dryRun(), looksUp: op.looksUp(),
		enableDNS: op.EnableDNS, subNotes: op.SubNotes, hideSecret: op.HideSecret,
		skipSchemaValidation: op.SkipSchemaValidation, postRenderer: op.PostRenderer,
	}}
	if err := op.rendering.prepare(chrt, vals); err != nil {
		return err
	}
	result, err := op.rendering.render()
	if err != nil {
		return err
	}
	if driver.ContainsSystemLabels(op.Labels) {
		return reservedLabels()
	}
	op.rel = &release.Release{
		Name: op.name, Namespace: op.current.Namespace, Chart: op.rendering.chart, Config: op.rendering.vals,
		Info: &release.Info{
			FirstDeployed: op.current.Info.FirstDeployed, LastDeployed: op.operation.cfg.Now(),
			Status: release.StatusPendingUpgrade, Description: "Preparing upgrade", Notes: result.Notes,
		},
		Version: revision, Manifest: result.Manifest, Hooks: result.Hooks, Labels: op.labels(op.last),
	}
	return nil
}

func (op *upgrading) newDeployment() *deployment {
	return &deployment{
		operation: op.operation, plan: op.rendering.plan, ledger: newLedger(op.operation.cfg, op.rel), prior: newPrior(op.history, op.current),
		deployOptions: deployOptions{
			ordered: op.ordered(), wait: op.Wait, jobs: op.WaitForJobs, timeout: op.Timeout,
			force: op.Force, takeOwnership: op.TakeOwnership, validate: !op.DisableOpenAPIValidation, recreate: op.Recreate,
			parallelHooks: op.MaxParallelHooks, followLogs: op.FollowHookLogs, hookModes: render.HookModes(op.rendering.root, op.rel.Namespace),
			noHooks: op.DisableHooks, before: release.HookPreUpgrade, after: release.HookPostUpgrade,
			hookFailure: func(event release.HookEvent, err error) error { return fmt.Errorf("%s hooks failed: %w", event, err) },
			conflict:    "Unable to continue with update", foreseen: op.foreseen,
		},
	}
}

// definitionHooks installs definitions that are hooks, on which the kinds of
// everything else may depend; what can be checked without them is checked before.
func (op *upgrading) definitionHooks(ctx context.Context) error {
	if op.dryRun() || op.SkipCRDs || op.DisableHooks || len(hookrunner.ForEvent(op.rel.Hooks, hookrunner.EventCRDInstall)) == 0 {
		return nil
	}
	d := op.newDeployment()
	if op.ordered() {
		if err := op.readPrior(ctx, d.prior); err != nil {
			return err
		}
	}
	if err := d.rehearse(ctx, op.rendering.recordOf(op.rel)); err != nil {
		return err
	}
	return installCRDHooks(ctx, op.operation.cfg, op.cluster, op.rel)
}

// build prepares the deployment and checks all that can be checked before anything
// is changed. With an error it returns the release where Helm does.
func (op *upgrading) build(ctx context.Context) (*release.Release, error) {
	op.rendering.warn(op.events)
	op.deployment = op.newDeployment()
	if err := op.deployment.build(); err != nil {
		return nil, err
	}
	if err := op.readPrior(ctx, op.deployment.prior); err != nil {
		return op.rel, err
	}
	if err := op.deployment.remember(op.rendering.chart, op.rendering.recordOf(op.rel)); err != nil {
		return nil, err
	}
	op.deployment.prepareToExplain()
	if err := op.deployment.findExisting(ctx, op.deployment.rollout.unknown(op.deployment.rollout.all)); err != nil {
		return nil, err
	}
	if op.dryRun() {
		return op.rel, nil
	}
	if err := op.deployment.check(ctx); err != nil {
		return nil, err
	}
	return nil, op.deployment.checkSize()
}

// readPrior reads what was there before: in order, revision by revision; without,
// as Helm does, but for revisions that were deployed in order and failed.
func (op *upgrading) readPrior(ctx context.Context, p *prior) error {
	if op.ordered() {
		err := p.readPlans(ctx, op.cluster, false)
		var invalid *releaserecord.InvalidError
		if errors.As(err, &invalid) {
			return fmt.Errorf("%w: upgrade with --wait=true, which takes no account of any order; later upgrades can be ordered again", err)
		}
		return err
	}
	if err := p.readAtOnce(op.cluster); err != nil {
		return err
	}
	if p.isOrdered() {
		return p.addOthers(op.cluster)
	}
	return nil
}

// begin stores the new revision, which also keeps others from upgrading.
func (op *upgrading) begin(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	op.operation.cfg.Releases.MaxHistory = op.MaxHistory
	op.operation.cfg.Log("creating upgraded release for %s", op.name)
	if err := op.hold(op.deployment.ledger, "upgrade", op.rel.Info.Status); err != nil {
		return err
	}
	var err error
	op.deployment.taken, err = op.succeed(op.rel, op.found)
	return err
}

// conclude records that the new revision is deployed.
func (op *upgrading) conclude() error {
	if err := op.deployment.ledger.mayConclude(); err != nil {
		return err
	}
	newLedger(op.operation.cfg, ownRelease(op.current)).note(op.events, func(rel *release.Release) { rel.Info.Status = release.StatusSuperseded })
	op.operation.cfg.Log("updating status for upgraded release for %s", op.name)
	return op.deployment.ledger.store(func(rel *release.Release) {
		rel.Info.Status, rel.Info.Description = release.StatusDeployed, op.description("Upgrade complete")
	})
}

func (op *upgrading) description(otherwise string) string {
	if op.Description != "" {
		return op.Description
	}
	return otherwise
}

// fail records the failure, and undoes what the options ask to undo.
func (op *upgrading) fail(ctx context.Context, failure error) (*release.Release, error) {
	op.operation.cfg.Log("warning: Upgrade %q failed: %s", op.name, failure)
	if lost := op.deployment.ledger.lostTo(); lost != nil {
		return op.rel, lost
	}
	undo, description := context.WithoutCancel(ctx), fmt.Sprintf("Upgrade %q failed: %s", op.name, inShort(failure))
	var lost, unclean error
	if op.CleanupOnFail {
		lost, unclean = op.deployment.recordCleanedUp(undo, failure, description, op.OnEvent)
	} else {
		lost = op.deployment.recordFailure(description)
	}
	switch {
	case lost != nil:
		return op.rel, lost
	case unclean != nil:
		return op.rel, &UndoError{Failure: failure, Undo: unclean, text: "an error occurred while cleaning up resources. original upgrade error"}
	}
	if !op.Atomic {
		return op.rel, failure
	}
	return op.rel, op.rollBack(undo, failure)
}

// rollBack returns the release to the last revision that was deployed.
func (op *upgrading) rollBack(ctx context.Context, failure error) error {
	op.operation.cfg.Log("Upgrade failed and atomic is set, rolling back to last successful release")
	history, err := readRevisions(op.operation.cfg.Releases, op.name)
	if err != nil {
		return &UndoError{Failure: failure, Undo: err, text: "an error occurred while finding last successful release. original upgrade error"}
	}
	var target *release.Release
	for _, status := range []release.Status{release.StatusDeployed, release.StatusSuperseded} {
		if target == nil {
			target = newest(slices.DeleteFunc(slices.Clone(history), func(rel *release.Release) bool { return rel.Info.Status != status }))
		}
	}
	if target == nil {
		return fmt.Errorf("unable to find a previously successful release when attempting to rollback. original upgrade error: %w", failure)
	}
	op.events.warn(fmt.Sprintf("the upgrade of release %s failed, and it is rolled back to revision %d because of --atomic: %s", op.name, target.Version, oneLine(inShort(failure))))
	r := NewRollback(op.operation.cfg)
	r.Version, r.Wait, r.WaitForJobs, r.DisableHooks, r.Recreate, r.Force, r.Timeout = target.Version, true, op.WaitForJobs, op.DisableHooks, op.Recreate, op.Force, op.Timeout
	r.MaxParallelHooks, r.FollowHookLogs = op.MaxParallelHooks, op.FollowHookLogs
	r.ReadinessTimeout, r.OnEvent, r.spared = op.ReadinessTimeout, op.OnEvent, op.deployment.rollout.adopted()
	r.undoes = op.deployment.ledger.own()
	if err := r.RunWithContext(ctx, op.name); err != nil {
		return &UndoError{Failure: failure, Undo: err, text: "an error occurred while rolling back the release. original upgrade error"}
	}
	return fmt.Errorf("release %s failed, and has been rolled back due to atomic being set: %w", op.name, failure)
}
