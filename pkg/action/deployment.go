// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/hookrunner"
	"github.com/ordered-helm/helm/internal/releaserecord"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// deployment is what install, upgrade and rollback have in common: it brings the
// cluster from what earlier revisions of a release left there to what a new one
// declares.
type deployment struct {
	*operation
	deployOptions
	ledger *ledger
	// prior is what may be there already; nil for a first revision.
	prior *prior
	// plan is the graph of the release; nil if it has no order.
	plan    *sequencer.Plan
	rollout *rollout
	// taken are the revisions whose hooks nobody has brought to their end.
	taken []*taken
	// doing is what perform does, or was doing when it failed.
	doing phase
}

// phase is a part of a deployment.
type phase int

const (
	runningHooks phase = iota
	applying
	removing
	waiting
)

// deployOptions say how a release is deployed.
type deployOptions struct {
	// ordered deploys by the plan, and waits for everything.
	ordered bool
	// inReverse deletes in reverse order what is gone, even if the release is not
	// deployed in order.
	inReverse bool
	// wait waits as Helm does, if it is not ordered; jobs counts Jobs too.
	wait, jobs bool
	timeout    time.Duration
	// force replaces objects, takeOwnership takes over those of others,
	// mergeCustom merges custom resources three-way, validate checks manifests
	// against the cluster's schema, recreate restarts pods.
	force, takeOwnership, mergeCustom, validate, recreate bool
	// spared are objects not to delete, whatever becomes of the release.
	spared map[sequencer.ID]bool
	// foreseen are kinds that the cluster will know once the release is deployed: a
	// preview does not build what is of them.
	foreseen map[schema.GroupKind]bool
	// lenient leaves out what only a chart's author can mend.
	lenient bool
	// noHooks leaves hooks out. Else before and after are run, and an error of
	// theirs gets the words of hookFailure. So many of them run at once; 0 is no
	// limit.
	noHooks       bool
	parallelHooks int
	followLogs    bool
	hookModes     hookrunner.Modes
	before, after release.HookEvent
	hookFailure   func(release.HookEvent, error) error
	// conflict is what Helm says before an object that belongs to others.
	conflict string
}

func (d *deployment) release() *release.Release { return d.ledger.rel }

// build reads the release into objects.
func (d *deployment) build() error {
	plan := d.plan
	if !d.ordered {
		plan = sequencer.SingleNode(chartName(d.release()))
	}
	d.rollout = d.newRollout(plan)
	return d.rollout.build(d.release().Manifest)
}

// remember has the release carry a record, if it is not nil, with what may be left
// of revisions before until all is done.
func (d *deployment) remember(bare *chart.Chart, rec *releaserecord.Record) error {
	if d.prior != nil && (rec != nil && rec.Ordered || d.prior.isOrdered()) {
		earlier := d.prior.earlier(d.release().Version, d.rollout.all, d.spared)
		if rec == nil && earlier != nil {
			rec = &releaserecord.Record{Revision: d.release().Version, Charts: &sequencer.Chart{Name: chartName(d.release())}}
		}
		if rec != nil {
			rec.Earlier = earlier
		}
	}
	if err := d.ledger.keep(bare, rec); err != nil || !d.ordered {
		return err
	}
	return d.ledger.expect(len(d.rollout.plan.Nodes), false)
}

// prepareToExplain prepares for failures to be explained without telling what is
// secret.
func (d *deployment) prepareToExplain() {
	d.events.hide(d.contents())
	d.rollout.explain = d.explainer(d.events.masker, d.rollout.later)
}

// rehearse goes through all checks while nothing was changed, as far as they do
// not need the definitions that are about to be installed. The release will carry the
// record.
func (d *deployment) rehearse(ctx context.Context, rec *releaserecord.Record) error {
	trial := *d.release()
	var err error
	if trial.Chart, err = releaserecord.WithRecord(trial.Chart, rec); err != nil {
		return err
	}
	if err := d.checkSizeOf(&trial); err != nil || !d.ordered {
		return err
	}
	r := d.newRollout(d.plan)
	if err := errors.Join(r.checkTimeouts(), r.checkNeeds(ctx)); err != nil {
		return err
	}
	if r.build("") != nil {
		return nil // of kinds that are about to be defined
	}
	if err := r.findExisting(ctx, r.unknown(r.all)); err != nil {
		return fmt.Errorf("%s: %w", d.conflict, err)
	}
	return r.checkPermissions(ctx)
}

func (d *deployment) newRollout(plan *sequencer.Plan) *rollout {
	return &rollout{
		deployOptions: d.deployOptions, operation: d.operation, plan: plan, prior: d.prior, ledger: d.ledger,
		name: d.release().Name, namespace: d.release().Namespace,
		resting: newResting(), peeking: make(chan struct{}, mostPeeks),
	}
}

// findExisting looks which of the objects are in the cluster, and refuses those of
// others.
func (d *deployment) findExisting(ctx context.Context, list kube.ResourceList) error {
	if err := d.rollout.findExisting(ctx, list); err != nil {
		return fmt.Errorf("%s: %w", d.conflict, err)
	}
	return nil
}

// check asks the cluster what the plan alone cannot tell.
func (d *deployment) check(ctx context.Context) error {
	if !d.ordered {
		return nil
	}
	if !d.lenient {
		if err := d.rollout.checkTimeouts(); err != nil {
			return err
		}
		if err := d.rollout.checkNeeds(ctx); err != nil {
			return err
		}
	}
	return d.rollout.checkPermissions(ctx)
}

// checkSize refuses a release that cannot be stored, before anything is changed.
func (d *deployment) checkSize() error { return d.checkSizeOf(d.release()) }

func (d *deployment) checkSizeOf(rel *release.Release) error {
	reserve := sizeReserve + hookReserve*len(rel.Hooks)
	if d.ordered {
		for _, n := range d.plan.Nodes {
			reserve += len(n.ID())
		}
	}
	return releaserecord.CheckSize(rel, d.cfg.Releases.Name(), reserve)
}

// sizeReserve is what a stored release may grow by until the operation is over, in
// bytes: its status and its description; hookReserve is what each hook adds by when it
// ran.
const (
	sizeReserve = 4096
	hookReserve = 64
)

// perform deploys the release: hooks, nodes, what is gone, hooks.
func (d *deployment) perform(ctx context.Context) error {
	defer d.rollout.close()
	d.ledger.begin()
	defer d.ledger.pause()
	if d.ordered {
		d.events.emit(Event{Type: EventPlanned, Message: "deploying " + extent(d.rollout.plan), Nodes: plannedNodes(d.rollout.plan)})
	}
	if err := d.settleHooks(ctx); err != nil {
		return err
	}
	if err := d.hooks(ctx, d.before); err != nil {
		return err
	}
	if err := d.rollOut(ctx); err != nil {
		return err
	}
	return d.hooks(ctx, d.after)
}

// rollOut deploys the nodes and deletes what is gone. Without an order that comes
// before the waiting, as in Helm; with one after it, so that what is to be
// replaced stays until its replacement is ready.
func (d *deployment) rollOut(ctx context.Context) (err error) {
	defer func() {
		if noted := d.ledger.end(err == nil); err == nil {
			err = noted
		}
	}()
	d.doing = applying
	if err := d.rollout.deploy(ctx); err != nil {
		return err
	}
	if d.ordered {
		if err := d.rollout.awaitRest(ctx); err != nil {
			return err
		}
		d.doing = removing
		return d.removeGone(ctx)
	}
	d.doing = removing
	if d.inReverse {
		err = d.removeGoneWithin(ctx, d.timeout)
	} else {
		err = d.removeGoneAtOnce(ctx)
	}
	if err != nil {
		return err
	}
	if d.wait {
		d.doing = waiting
		return d.rollout.awaitAsHelm(ctx, d.timeout)
	}
	return nil
}

func (d *deployment) hooks(ctx context.Context, event release.HookEvent) error {
	d.doing = runningHooks
	if d.noHooks {
		d.cfg.Log("hooks disabled for %s", d.release().Name)
		return context.Cause(ctx)
	}
	if err := d.runHooks(ctx, d.ledger, event, d.hookOptions()); err != nil {
		return d.hookFailure(event, err)
	}
	return context.Cause(ctx)
}

func (d *deployment) hookOptions() hookOptions {
	return hookOptions{timeout: d.timeout, limit: d.parallelHooks, follow: d.followLogs, modes: d.hookModes}
}

// settleHooks brings the hooks of operations that died to their end.
func (d *deployment) settleHooks(ctx context.Context) error {
	if len(d.taken) == 0 || d.noHooks {
		return nil
	}
	d.doing = runningHooks
	return d.settleAll(ctx, d.taken, d.hookOptions())
}

// cause is what a failure is reported as. Without an order it is, as in Helm, the
// end of the context, whatever that cut off but hooks that ran in parallel.
func (d *deployment) cause(ctx context.Context, failure error) error {
	if !d.ordered && ctx.Err() != nil && !ofParallelHooks(failure) {
		return context.Cause(ctx)
	}
	return failure
}

// failed is what a failure of the deployment is reported and recorded as.
func (d *deployment) failed(ctx context.Context, failure error) error {
	return d.events.conceal(d.cause(ctx, failure))
}

// inShort gives a failure in the words that the release keeps: one line, not
// too long, unless it is one of Helm's own.
func inShort(failure error) string {
	const most = 1000
	text := ""
	var deploy *DeployError
	var removal *RemovalError
	var hook *HookError
	switch {
	case errors.As(failure, &deploy):
		text = deploy.Summary()
	case errors.As(failure, &removal):
		text = removal.Summary()
	case errors.As(failure, &hook):
		return strings.Replace(failure.Error(), hook.Error(), hook.Summary(), 1)
	default:
		return failure.Error()
	}
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// newRemoval prepares the deletion of those resources of plans that are chosen,
// each of which object finds.
func (d *deployment) newRemoval(plans []*sequencer.Plan, object func(*sequencer.PlannedResource) *kubeInfo, choose func(*sequencer.PlannedResource) bool) *removal {
	return &removal{
		cluster: d.cluster, events: d.events, namespace: d.release().Namespace, propagation: backgroundDeletion,
		object: object, partial: true,
		graph: sequencer.PlanRemoval(plans, func(res *sequencer.PlannedResource) (sequencer.ID, bool) {
			info := object(res)
			if info == nil || !choose(res) {
				return sequencer.ID{}, false
			}
			return idOf(info), true
		}),
	}
}

// keyed finds the objects of a list by their identity.
func keyed(list kube.ResourceList) map[sequencer.ID]*kubeInfo {
	byID := make(map[sequencer.ID]*kubeInfo, len(list))
	for _, info := range list {
		byID[idOf(info)] = info
	}
	return byID
}
