// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	helmtime "helm.sh/helm/v3/pkg/time"

	"github.com/ordered-helm/helm/internal/releaserecord"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// rollingBack is one run of a Rollback.
type rollingBack struct {
	*Rollback
	*operation
	name string

	found           *found
	history         []*release.Release
	current, target *release.Release
	// plan is how the target was deployed, if that was in order, and rec what
	// remembers it.
	plan *sequencer.Plan
	rec  *releaserecord.Record

	rel        *release.Release
	deployment *deployment
}

// load reads the release and finds the revision to return to.
func (op *rollingBack) load(ctx context.Context) error {
	if err := chartutil.ValidateReleaseName(op.name); err != nil {
		return fmt.Errorf("prepareRollback: Release name is invalid: %s", op.name)
	}
	if op.Version < 0 {
		return errors.New("invalid release revision")
	}
	cfg := op.Rollback.cfg
	inquiry := &inquiry{
		cfg: cfg, events: newEvents(op.OnEvent), name: op.name, takeover: op.Takeover, undoes: op.undoes, helm: noObjection,
	}
	var err error
	if op.DryRun { // it only looks
		op.found = &found{}
		op.found.history, op.found.err = readRevisions(cfg.Releases, op.name)
	} else if op.found, err = inquiry.run(ctx); err != nil {
		return err
	}
	if op.history, err = op.found.history, op.found.err; err != nil {
		return err
	}
	if op.current = newest(op.history); op.current == nil {
		return fmt.Errorf("no revision for release %q", op.name)
	}
	version := op.Version
	if version == 0 {
		version = op.current.Version - 1
	}
	for _, rel := range op.history {
		if rel.Version == version {
			op.target = rel
		}
	}
	if op.target == nil {
		return fmt.Errorf("release has no %d version", version)
	}
	cfg.Log("rolling back %s (current: v%d, target: v%d)", op.name, op.current.Version, version)
	op.plan, op.rec, err = op.order()
	return err
}

func (op *rollingBack) run(ctx context.Context) error {
	op.rel = op.newRelease()
	if err := op.build(ctx); err != nil {
		return err
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := op.begin(); err != nil {
		return err
	}
	if err := op.deployment.perform(ctx); err != nil {
		return op.fail(ctx, op.deployment.failed(ctx, err))
	}
	return op.conclude()
}

// begin stores the new revision, which also keeps others from changing the release.
func (op *rollingBack) begin() error {
	op.operation.cfg.Log("creating rolled back release for %s", op.name)
	if err := op.hold(op.deployment.ledger, "rollback", op.rel.Info.Status); err != nil {
		return err
	}
	var err error
	op.deployment.taken, err = op.succeed(op.rel, op.found)
	return err
}

func (op *rollingBack) newRelease() *release.Release {
	return &release.Release{
		Name: op.name, Namespace: op.current.Namespace, Chart: op.target.Chart, Config: op.target.Config,
		Info: &release.Info{
			FirstDeployed: op.current.Info.FirstDeployed, LastDeployed: helmtime.Now(), Status: release.StatusPendingRollback,
			Notes: op.target.Info.Notes, Description: fmt.Sprintf("Rollback to %d", op.target.Version),
		},
		Version: op.current.Version + 1, Labels: op.target.Labels, Manifest: op.target.Manifest, Hooks: ownHooks(op.target.Hooks),
	}
}

// build prepares the deployment and checks all that can be checked before anything
// is changed.
func (op *rollingBack) build(ctx context.Context) error {
	ordered := op.plan != nil
	if !ordered && op.WaitStrategy == WaitStrategyOrdered {
		op.events.warn(fmt.Sprintf("revision %d of release %s was not deployed in order: everything is changed at once, and then waited for", op.target.Version, op.name))
		op.Wait = true
	}
	p := newPrior(op.history, op.current)
	inReverse := ordered || !op.IgnoreOrder && p.isOrdered() && op.cluster.Direct()
	op.deployment = &deployment{
		operation: op.operation, plan: op.plan, ledger: newLedger(op.operation.cfg, op.rel), prior: p,
		deployOptions: deployOptions{
			ordered: ordered, inReverse: inReverse, wait: op.Wait, jobs: op.WaitForJobs, timeout: op.Timeout,
			force: op.Force, recreate: op.Recreate, takeOwnership: true, lenient: true,
			spared:        op.spared,
			parallelHooks: op.MaxParallelHooks, followLogs: op.FollowHookLogs, hookModes: storedHookModes(op.target, op.events),
			noHooks: op.DisableHooks, before: release.HookPreRollback, after: release.HookPostRollback,
			hookFailure: func(_ release.HookEvent, err error) error { return err },
		},
	}
	if err := op.readPrior(ctx, p, inReverse); err != nil {
		return err
	}
	if err := op.deployment.build(); err != nil {
		return fmt.Errorf("unable to build kubernetes objects from new release manifest: %w", err)
	}
	if err := op.keepRecord(); err != nil {
		return err
	}
	op.deployment.prepareToExplain()
	if ordered {
		if err := op.deployment.findExisting(ctx, op.deployment.rollout.unknown(op.deployment.rollout.all)); err != nil {
			return err
		}
	}
	if err := op.deployment.check(ctx); err != nil {
		return err
	}
	return op.deployment.checkSize()
}

// keepRecord has the new revision remember that it was deployed in order. One that
// is not carries what the target remembers of its own order, as in stock Helm: that
// says which revision it is about. A record that cannot be used ends here.
func (op *rollingBack) keepRecord() error {
	if op.target.Chart == nil {
		return nil
	}
	bare, err := releaserecord.WithRecord(op.target.Chart, nil)
	if err != nil {
		return err
	}
	rec, err := releaserecord.Read(op.target)
	switch {
	case op.plan != nil:
		rec = &releaserecord.Record{Revision: op.rel.Version, Ordered: true, Charts: op.rec.Charts, DocumentCharts: op.rec.DocumentCharts}
	case err != nil || rec == nil || !rec.Ordered && !runsHooksInParallel(rec.Charts):
		rec = nil
	default:
		rec.Progress, rec.Earlier = nil, nil
	}
	return op.deployment.remember(bare, rec)
}

// readPrior reads what was there before: where what is gone is deleted in order,
// revision by revision; else as Helm does, but for revisions that were deployed in
// order.
func (op *rollingBack) readPrior(ctx context.Context, p *prior, inReverse bool) error {
	if inReverse {
		return p.readPlans(ctx, op.cluster, true)
	}
	if err := p.readAtOnce(op.cluster); err != nil {
		return err
	}
	if p.isOrdered() {
		return p.addOthers(op.cluster)
	}
	return nil
}

// conclude records that the new revision is deployed, and no other.
func (op *rollingBack) conclude() error {
	if err := op.deployment.ledger.mayConclude(); err != nil {
		return err
	}
	deployed, err := op.operation.cfg.Releases.DeployedAll(op.name)
	if err != nil && !errors.Is(err, driver.ErrNoDeployedReleases) {
		return err
	}
	for _, rel := range deployed {
		op.operation.cfg.Log("superseding previous deployment %d", rel.Version)
		newLedger(op.operation.cfg, ownRelease(rel)).note(op.events, func(rel *release.Release) { rel.Info.Status = release.StatusSuperseded })
	}
	op.operation.cfg.Log("updating status for rolled back release for %s", op.name)
	return op.deployment.ledger.store(func(rel *release.Release) { rel.Info.Status = release.StatusDeployed })
}

// fail records the failure, and deletes what was created if that is asked for.
func (op *rollingBack) fail(ctx context.Context, failure error) error {
	if lost := op.deployment.ledger.lostTo(); lost != nil {
		return lost
	}
	description := fmt.Sprintf("Rollback %q failed: %s", op.name, inShort(failure))
	op.operation.cfg.Log("warning: %s", description)
	result := failure
	if ordered := op.plan != nil; !ordered {
		switch op.deployment.doing {
		case applying: // as in Helm, but what failed was never deployed
			if op.current.Info.Status == release.StatusDeployed {
				newLedger(op.operation.cfg, ownRelease(op.current)).note(op.events, func(rel *release.Release) { rel.Info.Status = release.StatusSuperseded })
			}
		case waiting:
			description = fmt.Sprintf("Release %q failed: %s", op.name, inShort(failure))
			result = fmt.Errorf("release %s failed: %w", op.name, failure)
		}
	}
	var lost, unclean error
	if op.CleanupOnFail && op.deployment.doing != waiting {
		lost, unclean = op.deployment.recordCleanedUp(context.WithoutCancel(ctx), failure, description, op.OnEvent)
	} else {
		lost = op.deployment.recordFailure(description)
	}
	switch {
	case lost != nil:
		return lost
	case unclean != nil:
		return &UndoError{Failure: failure, Undo: unclean, text: "an error occurred while cleaning up resources. original rollback error"}
	}
	return result
}
