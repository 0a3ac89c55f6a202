// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"time"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/ordered-helm/helm/internal/lease"
	"github.com/ordered-helm/helm/internal/lifecycle"
	"github.com/ordered-helm/helm/internal/operation"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// Rollback rolls a release back to an earlier revision. It has every field of Helm's
// Rollback, with the same meaning. If the earlier revision was deployed in order, the
// rollback follows the same order and waits until all resources are ready
// (docs/reference.md, "Rollback").
type Rollback struct {
	*helmaction.Rollback

	// WaitStrategy, if WaitStrategyOrdered, makes the rollback wait until all resources are
	// ready, even if the earlier revision was not deployed in order.
	WaitStrategy WaitStrategy
	// Labels are set in the new revision, in addition to the labels of the earlier one. Helm's
	// own labels, such as "owner", are an error.
	Labels map[string]string
	// IgnoreOrder makes the rollback change and delete all objects at the same time,
	// without ordering, even if the earlier revision was deployed in order.
	IgnoreOrder bool
	// IgnoreJobs makes an ordered rollback not wait for Jobs without dependents. It is like
	// --wait-for-jobs=false, and cannot be combined with WaitForJobs. If neither field is
	// set, the rollback waits for them unless the earlier revision was deployed with
	// IgnoreJobs.
	IgnoreJobs bool
	// ReadinessTimeout is the time that each resource on which others depend may take to
	// become ready after it was applied. It is used only in an ordered rollback. An
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
	// Takeover says what to do if another operation has locked the release and may have
	// terminated unexpectedly. An empty value means TakeoverAuto. If the release is not
	// taken over, the error is a *HeldError (docs/reference.md, "Release locks").
	Takeover Takeover
	// OnEvent, if not nil, is called with each event of the operation (docs/reference.md,
	// "Events"). It is called from different goroutines, but never concurrently. It must
	// return quickly, because the operation waits for it.
	OnEvent func(Event)
	// Lifecycle contains handlers of the events of the operation; nil if there are none
	// (docs/reference.md, "Lifecycle events").
	Lifecycle *lifecycle.Emitter
	ScriptOptions
	// DisableScripts makes the operation run no scripts.
	DisableScripts bool

	cfg *Configuration
	// spared contains objects that must not be deleted. In a rollback because of --atomic,
	// these are the objects that the failed upgrade adopted.
	spared map[sequencer.ID]bool
	// undo identifies the failed upgrade that started this rollback because of --atomic;
	// otherwise nil.
	undo *lease.FailedOperation
}

// NewRollback returns a Rollback with Helm's defaults.
func NewRollback(cfg *Configuration) *Rollback {
	return &Rollback{Rollback: helmaction.NewRollback(cfg), cfg: cfg}
}

// Run is like RunWithContext with a context that is never canceled.
func (r *Rollback) Run(name string) error {
	return r.RunWithContext(context.Background(), name) //nolint:forbidigo // the signature is Helm's
}

// RunWithContext rolls the release with the given name back to the revision in the field
// Version, or to the previous revision if Version is 0. It does this by creating a new
// revision.
//
// When ctx is done, RunWithContext stops, records the new revision as failed and returns an
// error that wraps the cause of ctx. None of its work continues after it has returned. The
// error can be a *DeployError, *RemovalError or *HookError (docs/reference.md, "SDK").
func (r *Rollback) RunWithContext(ctx context.Context, name string) error {
	if err := errors.Join(validateOptions(r.WaitStrategy, r.Takeover, r.MaxParallelHooks, r.RecreateObjects...), validateJobs(r.WaitForJobs, r.IgnoreJobs)); err != nil {
		return err
	}
	if driver.ContainsSystemLabels(r.Labels) {
		return reservedLabelsError()
	}
	if err := r.cfg.KubeClient.IsReachable(); err != nil {
		return err
	}
	r.cfg.Releases.MaxHistory = r.MaxHistory
	r.cfg.Log("preparing rollback of %s", name)
	target, err := r.load(ctx, name)
	if err != nil {
		return err
	}
	if r.DryRun {
		r.cfg.Log("dry run for %s", name)
		return nil
	}
	ordered := target.plan != nil
	limits, err := operation.NewTimeouts(r.Timeout, r.ReadinessTimeout, ordered)
	if err != nil {
		return err
	}
	op, ctx, end := operation.Start(ctx, r.cfg, operation.StartOptions{Notify: r.OnEvent, Timeouts: limits, Bounded: ordered})
	defer end()
	run := &rollbackRun{action: r, op: op, target: target, rel: target.newRelease(r.Labels)}
	op.Announce(Operation{Name: "rollback", Release: name, Namespace: run.rel.Namespace, Revision: run.rel.Version, Ordered: ordered})
	return op.Finish(ctx, run.rollBack(ctx))
}
