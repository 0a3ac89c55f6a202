// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"fmt"
	"strings"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/drift"
	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/planner"
	"github.com/ordered-helm/helm/internal/preview"
	"github.com/ordered-helm/helm/internal/revisiondiff"
	"github.com/ordered-helm/helm/internal/wait"
)

// isUnchanged reports whether OnlyIfChanged is set, and the upgrade would change nothing: the last revision is deployed,
// the new one would equal it, and the cluster equals its manifest. It emits an event that says so, or what differs.
func (r *upgradeRun) isUnchanged(ctx context.Context) (bool, error) {
	if !r.action.OnlyIfChanged || r.mode != deploying {
		return false, nil
	}
	if status := r.last.Info.Status; status != release.StatusDeployed {
		r.compared("revision %d of release %s is %s: it is upgraded", r.last.Version, r.name, status)
		return false, nil
	}
	p := r.planner.WithRelease(revisiondiff.ReleaseOptions(r.last, r.state.History))
	candidate, err := r.candidate(ctx, p)
	if err != nil {
		return false, nil //nolint:nilerr // the upgrade fails with the same error
	}
	differences, err := r.differences(ctx, p, candidate)
	if err != nil {
		return false, err
	}
	if len(differences) > 0 {
		r.compared("release %s differs from revision %d: %s", r.name, r.last.Version, strings.Join(differences, ", "))
		return false, nil
	}
	report, err := drift.Find(ctx, drift.Config{Operation: r.op, Release: r.last})
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case err != nil:
		r.compared("release %s is unchanged, but cannot be compared with the cluster: it is upgraded: %v", r.name, r.op.Events.RedactError(err))
		return false, nil
	case report.Drifted:
		r.compared("release %s is unchanged, but the cluster differs from revision %d: %s", r.name, r.last.Version, report.Summary())
		return false, nil
	}
	r.compared("release %s is unchanged: revision %d stays, and no hooks run", r.name, r.last.Version)
	return true, nil
}

func (r *upgradeRun) compared(format string, args ...any) {
	r.op.Events.Emit(event.Event{Type: event.Compared, Message: fmt.Sprintf(format, args...)})
}

// differences returns in what candidate, the new revision as p renders it with the number of the last one, differs from
// the last one.
func (r *upgradeRun) differences(ctx context.Context, p *planner.Planner, candidate revisiondiff.Revision) ([]string, error) {
	record, err := orderrecord.Read(r.last)
	if err != nil {
		return []string{"the order"}, nil //nolint:nilerr // the record cannot be used
	}
	differences, err := revisiondiff.Compare(revisiondiff.Revision{Release: r.last, Record: record}, candidate)
	if err != nil {
		return nil, err
	}
	if len(differences) == 0 {
		if changed, err := r.definitionsChange(ctx); err != nil || changed {
			return []string{"the definitions in crds/ directories"}, err
		}
		return nil, nil
	}
	if again, err := r.candidate(ctx, p); err == nil {
		if random := revisiondiff.ChangedFields(candidate.Manifest, again.Manifest); len(random) > 0 {
			differences = append(differences, fmt.Sprintf("and these fields change whenever the chart is rendered, so that it is never unchanged: %s", strings.Join(random, ", ")))
		}
	}
	return differences, nil
}

// candidate renders the chart, and returns what the new revision would be.
func (r *upgradeRun) candidate(ctx context.Context, p *planner.Planner) (revisiondiff.Revision, error) {
	rendered, finish, err := r.output.attempt(ctx, p)
	finish(false)
	if err != nil {
		return revisiondiff.Revision{}, err
	}
	rel := r.newRelease()
	rel.Info.Description = r.action.Description
	setRendered(rel, rendered)
	rel.Chart, err = p.StoredChart()
	return revisiondiff.Revision{Release: rel, Record: p.Record(rel, rendered)}, err
}

// definitionsChange reports whether the upgrade would create or change CRDs in crds/ directories.
func (r *upgradeRun) definitionsChange(ctx context.Context) (bool, error) {
	b := preview.NewBuilder(r.op, PlannedUpgrade)
	err := b.AddCRDs(ctx, r.newRelease(), r.crds)
	return b.HasChanges(), err
}

// awaitUnchanged waits until the objects of the last revision are ready, if the upgrade would wait.
func (r *upgradeRun) awaitUnchanged(ctx context.Context) error {
	u := r.action
	if !u.Wait && !u.Atomic && !u.isOrdered() {
		return nil
	}
	list, err := drift.LiveObjects(ctx, r.op, r.last)
	if err == nil {
		err = r.op.Waiter.WaitReady(ctx, list, wait.WaitReadyOptions{
			Timeout: u.Timeout, Jobs: waitsForJobs(u.isOrdered(), u.WaitForJobs, u.IgnoreJobs), Namespace: r.last.Namespace,
		})
	}
	if err != nil {
		return fmt.Errorf("release %s is unchanged, but not ready: %w", r.name, err)
	}
	return nil
}
