// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"time"

	helmaction "helm.sh/helm/v3/pkg/action"

	"github.com/ordered-helm/helm/internal/lease"
	"github.com/ordered-helm/helm/internal/operation"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// Rollback returns a release to an earlier revision. It has every field of Helm's Rollback,
// with the same meaning. If the earlier revision was deployed in order, the rollback runs
// in the same order (docs/reference.md, "Rollback").
type Rollback struct {
	*helmaction.Rollback

	// WaitStrategy, if WaitStrategyOrdered, makes the rollback wait until all resources are
	// ready, even if the earlier revision was not deployed in order.
	WaitStrategy WaitStrategy
	// IgnoreOrder changes all objects at the same time, even if the earlier revision was
	// deployed in order.
	IgnoreOrder bool
	// ReadinessTimeout is how long each resource with dependents may take to become ready.
	// 0 means ten seconds, or Timeout if that is shorter. It must not be longer than
	// Timeout. Resources can declare their own timeout.
	ReadinessTimeout time.Duration
	// MaxParallelHooks is the maximum number of hooks that run at the same time, if the
	// chart lets hooks run in parallel. 0 means no limit. It must not be negative.
	MaxParallelHooks int
	// FollowHookLogs reads the log of each running hook about once a second and passes its
	// last line to OnEvent.
	FollowHookLogs bool
	// Takeover says what to do if another operation is working on the release, or
	// terminated unexpectedly while it did. An empty value means TakeoverAuto.
	Takeover Takeover
	// OnEvent, if set, is called for every step of the operation. It is called from
	// different goroutines, but never concurrently. It must return quickly.
	OnEvent func(Event)

	cfg *Configuration
	// spared contains objects that must not be deleted. The rollback of --atomic sets it to
	// the objects that existed before the upgrade without belonging to the release.
	spared map[sequencer.ID]bool
	// undo is the failed operation that this rollback undoes because of --atomic; otherwise
	// nil.
	undo *lease.UndoTarget
}

// NewRollback returns a Rollback with Helm's defaults.
func NewRollback(cfg *Configuration) *Rollback {
	return &Rollback{Rollback: helmaction.NewRollback(cfg), cfg: cfg}
}

// Run is like RunWithContext with a context that is never cancelled.
func (r *Rollback) Run(name string) error {
	return r.RunWithContext(context.Background(), name) //nolint:forbidigo // the signature is Helm's
}

// RunWithContext rolls the release back. When ctx is done, it stops, records the new
// revision as failed and returns; none of its work continues after that.
func (r *Rollback) RunWithContext(ctx context.Context, name string) error {
	if err := validateOptions(r.WaitStrategy, r.Takeover, r.MaxParallelHooks); err != nil {
		return err
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
	limits, err := newTimeouts(r.Timeout, r.ReadinessTimeout, ordered)
	if err != nil {
		return err
	}
	op, ctx, end := operation.Start(ctx, r.cfg, operation.Options{Notify: r.OnEvent, Timeouts: limits, Bounded: ordered})
	defer end()
	run := &rollbackRun{action: r, op: op, target: target, rel: target.newRelease()}
	op.Begin(Operation{Name: "rollback", Release: name, Namespace: run.rel.Namespace, Revision: run.rel.Version, Ordered: ordered})
	return op.Finish(ctx, run.rollBack(ctx))
}
