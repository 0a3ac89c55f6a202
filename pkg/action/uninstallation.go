// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/releaserecord"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/watcher"
)

// uninstallation is one run of an Uninstall.
type uninstallation struct {
	*Uninstall
	*operation

	found   *found
	history []*release.Release
	rel     *release.Release
	ledger  *ledger
	// taken are the revisions before whose hooks nobody has brought to their end.
	taken []*taken
	// before is the release as it was stored when this began, and deletes whether
	// anything of it is being deleted.
	before  *release.Release
	deletes bool
	// all is what the release may have in the cluster, as it was before this began.
	all *prior
	// prior is what the release consists of, if it is removed in reverse order, and
	// removal how.
	prior   *prior
	removal *removal
	// files are, otherwise, the documents to delete in Helm's uninstall order.
	files []releaseutil.Manifest
	// kept is what the resource policy keeps, for people; deleted is what is not.
	kept     strings.Builder
	deleted  kube.ResourceList
	response *release.UninstallReleaseResponse
}

// load reads the release. It is done already where there is nothing to remove.
func (op *uninstallation) load(ctx context.Context, name string) (done bool, err error) {
	cfg := op.Uninstall.cfg
	if err := chartutil.ValidateReleaseName(name); err != nil {
		return false, fmt.Errorf("uninstall: Release name is invalid: %s", name)
	}
	inquiry := &inquiry{cfg: cfg, events: newEvents(op.OnEvent), name: name, takeover: op.Takeover, undoes: op.undoes, helm: noObjection}
	if op.found, err = inquiry.run(ctx); err != nil {
		return false, err
	}
	op.history, err = op.found.history, op.found.err
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
	op.rel = ownRelease(op.history[len(op.history)-1])
	op.ledger, op.all = newLedger(cfg, op.rel), newPrior(op.history, op.rel)
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

// order decides whether the release is removed in reverse order: the record of
// its last revision says so, or that of one which failed after the last that was
// deployed. A record that cannot be used is an error, unless the caller asks to
// remove everything at once.
func (op *uninstallation) order() (*prior, error) {
	p := op.all
	if op.IgnoreOrder || !p.isOrdered() {
		return nil, nil
	}
	for _, rel := range p.revisions {
		_, err := releaserecord.Read(rel)
		switch {
		case err == nil:
		case op.Wait && op.WaitStrategy == WaitStrategyNone:
			return nil, nil
		default:
			return nil, fmt.Errorf("uninstall: %w: use --wait=true, or --wait=false, to remove everything at once", err)
		}
	}
	return p, nil
}

func (op *uninstallation) ordered() bool { return op.prior != nil }

func (op *uninstallation) run(ctx context.Context) (*release.UninstallReleaseResponse, error) {
	if err := op.prepare(ctx); err != nil {
		return nil, err
	}
	op.operation.cfg.Log("uninstall: Deleting %s", op.rel.Name)
	if err := op.begin(); err != nil {
		return nil, err
	}
	op.ledger.begin()
	defer op.ledger.pause()
	op.response = &release.UninstallReleaseResponse{Release: op.rel}
	hooks := hookOptions{timeout: op.Timeout, limit: op.MaxParallelHooks, follow: op.FollowHookLogs, modes: storedHookModes(op.rel, op.events)}
	if op.DisableHooks {
		op.operation.cfg.Log("delete hooks disabled for %s", op.rel.Name)
	} else if err := op.settleHooks(ctx, &hooks); err != nil {
		return op.response, op.abandon(ctx, err)
	} else if err := op.runHooks(ctx, op.ledger, release.HookPreDelete, hooks); err != nil {
		if !op.ordered() && ctx.Err() != nil && !ofParallelHooks(err) {
			err = context.Cause(ctx) // whatever that cut off
		}
		return op.response, op.abandon(ctx, err)
	}
	if err := op.remove(ctx); err != nil {
		return nil, err
	}
	var errs []error
	if op.Wait || op.WaitStrategy == WaitStrategyOrdered {
		if err := op.awaitDeleted(ctx); err != nil {
			errs = append(errs, err)
		}
	}
	if !op.DisableHooks {
		if err := op.runHooks(ctx, op.ledger, release.HookPostDelete, hooks); err != nil {
			errs = append(errs, err)
		}
	}
	if err := context.Cause(ctx); err != nil {
		return op.response, op.abandon(ctx, errors.Join(append([]error{err}, errs...)...))
	}
	return op.conclude(errs)
}

// prepare reads what is to be deleted.
func (op *uninstallation) prepare(ctx context.Context) error {
	op.prepareToConceal()
	if op.ordered() {
		return op.prepareInOrder(ctx)
	}
	if rec, err := releaserecord.Read(op.rel); err == nil {
		if err := op.ledger.keepOnly(left(rec)); err != nil {
			return err
		}
	}
	_, files, err := releaseutil.SortManifests(releaseutil.SplitManifests(op.rel.Manifest), nil, releaseutil.UninstallOrder)
	if err != nil {
		op.operation.cfg.Log("uninstall: Failed to delete release: %s", op.events.conceal(err))
		return fmt.Errorf("failed to delete release: %s", op.rel.Name)
	}
	for _, f := range files {
		if f.Head.Metadata != nil && keeps(f.Head.Metadata.Annotations[kube.ResourcePolicyAnno]) {
			fmt.Fprintf(&op.kept, "[%s] %s\n", f.Head.Kind, f.Head.Metadata.Name)
		} else {
			op.files = append(op.files, f)
		}
	}
	return nil
}

// prepareInOrder plans the deletion in reverse order.
func (op *uninstallation) prepareInOrder(ctx context.Context) error {
	if err := op.prior.readPlans(ctx, op.cluster, false); err != nil {
		return fmt.Errorf("uninstall: %w: use --wait=false to remove everything at once", err)
	}
	policies := op.prior.policies()
	listed := map[sequencer.ID]bool{}
	for _, plan := range slices.Backward(op.prior.plans) {
		for _, n := range plan.Nodes {
			for _, res := range n.Resources {
				id, exists := op.prior.of[res]
				if exists && keeps(policies[id]) && !listed[id] {
					listed[id] = true
					fmt.Fprintf(&op.kept, "[%s] %s\n", res.ID.Kind, res.ID.Name)
				}
			}
		}
	}
	op.removal = &removal{
		cluster: op.cluster, events: op.events, namespace: op.rel.Namespace, propagation: op.propagation(),
		within: op.ReadinessTimeout, object: op.prior.infoOf, ledger: op.ledger,
		graph: sequencer.PlanRemoval(op.prior.plans, func(res *sequencer.PlannedResource) (sequencer.ID, bool) {
			id, exists := op.prior.of[res]
			return id, exists && !keeps(policies[id]) && !op.spared[id]
		}),
		spare: func(live *unstructured.Unstructured) string { return op.prior.whySpare(live, policies, true) },
	}
	return op.remember()
}

// remove deletes what the release consists of. If it fails, the release stays
// recorded.
func (op *uninstallation) remove(ctx context.Context) error {
	op.deletes = true
	var err error
	if op.ordered() {
		err = op.removeInOrder(ctx)
	} else {
		err = op.removeAtOnce(ctx)
	}
	if err == nil {
		if op.kept.Len() > 0 {
			op.response.Info = "These resources were kept due to the resource policy:\n" + op.kept.String()
		}
		return nil
	}
	op.operation.cfg.Log("uninstall: Failed to delete release: %s", op.events.conceal(err))
	cause := context.Cause(ctx)
	switch {
	case op.ordered():
		err = fmt.Errorf("failed to delete release: %s: %w", op.rel.Name, err)
	case cause != nil:
		err = cause
	default: // Helm's words, which do not say why
		op.events.warn(fmt.Sprintf("not all of release %s could be deleted: %s", op.rel.Name, oneLine(err.Error())))
		err = fmt.Errorf("failed to delete release: %s", op.rel.Name)
	}
	return op.abandon(ctx, err)
}

// remember has the release say, from now on, how far its removal came.
func (op *uninstallation) remember() error {
	rec, err := releaserecord.Read(op.rel)
	if err != nil {
		return err
	}
	if err := op.ledger.keepOnly(rec); err != nil {
		return err
	}
	return op.ledger.expect(op.removal.nodes(), true)
}

func (op *uninstallation) removeInOrder(ctx context.Context) error {
	op.events.emit(Event{Type: EventPlanned, Message: fmt.Sprintf("removing release %s: %s, in reverse order", op.rel.Name, op.removal.extent()), Nodes: removedNodes(op.removal.graph)})
	err := op.removal.run(ctx)
	op.deleted = op.removal.deleted
	return errors.Join(err, op.ledger.end(err == nil))
}

// removeAtOnce deletes everything, as Helm does.
func (op *uninstallation) removeAtOnce(ctx context.Context) error {
	var manifest strings.Builder
	for _, f := range op.files {
		manifest.WriteString("\n---\n" + f.Content)
	}
	list, err := op.cluster.Build([]byte(manifest.String()), false)
	if err != nil {
		return fmt.Errorf("unable to build kubernetes objects for delete: %w", err)
	}
	for _, info := range op.withLeft(ctx, list) {
		if len(op.spared) == 0 || !op.spared[idOf(info)] {
			op.deleted = append(op.deleted, info)
		}
	}
	_, errs := op.cluster.Delete(ctx, op.deleted, op.propagation())
	return errors.Join(errs...)
}

// awaitDeleted waits until all that was deleted is gone.
func (op *uninstallation) awaitDeleted(ctx context.Context) error {
	if len(op.deleted) == 0 {
		return nil
	}
	waiting := deletionWait{cluster: op.cluster, timeout: op.Timeout, onChange: func(ctx context.Context, report watcher.Report) {
		e := changeOf(report, "", op.rel.Namespace)
		if report.Status.State == readiness.Ready {
			e.State, e.Message = "Gone", "gone"
		} else {
			e.Deadline, _ = ctx.Deadline()
		}
		op.events.emit(e)
	}}
	if op.ordered() {
		waiting.timeout = asLongAsItTakes // the operation has its own
	}
	if op.cluster.Real() {
		tracker, err := newTracker(ctx, op.cluster, func(watcher.Notice) {})
		if err != nil {
			return err
		}
		defer tracker.Close()
		waiting.tracker = tracker
	}
	op.events.emit(Event{Type: EventWaiting, Message: "waiting until everything is gone: " + counted(len(op.deleted), "resource"), Resources: len(op.deleted)})
	return waiting.run(ctx, op.deleted)
}

// withLeft adds, where a revision was deployed in order, what those before the
// last one have left, and leaves out what is not the release's. What cannot be
// found out is said, and does not hold up the rest.
func (op *uninstallation) withLeft(ctx context.Context, list kube.ResourceList) kube.ResourceList {
	p := op.all
	if !p.isOrdered() || !op.cluster.Direct() {
		return list
	}
	err := p.readPlans(ctx, op.cluster, true)
	all := slices.Clone(list)
	for _, info := range p.objects {
		if !p.ofBase[idOf(info)] {
			all = append(all, info)
		}
	}
	live, unreadable := op.cluster.Live(ctx, all)
	if err := errors.Join(err, unreadable); err != nil {
		op.events.warn(fmt.Sprintf("what revisions before the last one may have left is not deleted: %v", err))
		return list
	}
	policies := p.policies()
	return slices.DeleteFunc(all, func(info *kubeInfo) bool {
		if live[info] == nil {
			return true
		}
		why := p.whySpare(live[info], policies, true)
		if why != "" {
			op.events.warn(fmt.Sprintf("%s is not deleted: %s", describe(info), why))
		}
		return why != ""
	})
}
