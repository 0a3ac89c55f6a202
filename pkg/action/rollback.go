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

// Rollback returns a release to an earlier revision. It has every field of Helm's
// Rollback and means the same by it. A revision that was deployed in order is
// returned to in order (docs/reference.md, "Rollback").
type Rollback struct {
	*helmaction.Rollback

	// WaitStrategy, if ordered, waits until everything is ready even if the revision was
	// not deployed in order.
	WaitStrategy WaitStrategy
	// IgnoreOrder changes everything at once, whatever the revision remembers.
	IgnoreOrder bool
	// ReadinessTimeout is how long each resource that others depend on may take to become
	// ready; 0 is ten seconds, shortened to Timeout. It must not be longer than Timeout.
	// Resources may declare another timeout themselves.
	ReadinessTimeout time.Duration
	// MaxParallelHooks is how many hooks run at once, where the chart lets any run in
	// parallel; 0 is no limit. It must not be negative.
	MaxParallelHooks int
	// FollowHookLogs reads the log of each running hook about every second, and passes its
	// last line to OnEvent.
	FollowHookLogs bool
	// Takeover says what to do with a release that another operation works on, or did until
	// it died.
	Takeover Takeover
	// OnEvent, if set, is called with every step, one at a time, from goroutines of the
	// operation. It must return soon.
	OnEvent func(Event)

	cfg *Configuration
	// spared are objects to leave alone.
	spared map[sequencer.ID]bool
	// undo is the operation that this one undoes; nil if it undoes none.
	undo *lease.UndoTarget
}

// NewRollback returns a Rollback with Helm's defaults.
func NewRollback(cfg *Configuration) *Rollback {
	return &Rollback{Rollback: helmaction.NewRollback(cfg), cfg: cfg}
}

// Run is RunWithContext with a context that never ends.
func (r *Rollback) Run(name string) error {
	return r.RunWithContext(context.Background(), name) //nolint:forbidigo // the signature is Helm's
}

// RunWithContext rolls the release back. When ctx is done it stops, records the new
// revision as failed and returns; nothing that it started goes on after that.
func (r *Rollback) RunWithContext(ctx context.Context, name string) error {
	if err := validateOptions(r.WaitStrategy, r.Takeover, r.MaxParallelHooks); err != nil {
		return err
	}
	if err := r.cfg.KubeClient.IsReachable(); err != nil {
		return err
	}
	r.cfg.Releases.MaxHistory = r.MaxHistory
	r.cfg.Log("preparing rollback of %s", name)
	run := &rollbackRun{action: r, name: name, wait: r.Wait}
	if err := run.load(ctx); err != nil {
		return err
	}
	if r.DryRun {
		r.cfg.Log("dry run for %s", name)
		return nil
	}
	ordered := run.plan != nil
	limits, err := newTimeouts(r.Timeout, r.ReadinessTimeout, ordered)
	if err != nil {
		return err
	}
	op, ctx, end := operation.Start(ctx, r.cfg, operation.Options{Notify: r.OnEvent, Timeouts: limits, Bounded: ordered})
	defer end()
	run.op = op
	op.Begin(ctx, Operation{Name: "rollback", Release: name, Namespace: run.current.Namespace, Revision: run.current.Version + 1, Ordered: ordered})
	return op.Finish(ctx, run.rollBack(ctx))
}
