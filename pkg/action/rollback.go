// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"time"

	helmaction "helm.sh/helm/v3/pkg/action"

	"github.com/ordered-helm/helm/internal/releaserecord"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// Rollback returns a release to an earlier revision. It has every field of Helm's
// Rollback and means the same by it. A revision that was deployed in order is
// returned to in order (docs/reference.md, "Rollback").
type Rollback struct {
	*helmaction.Rollback

	// WaitStrategy, if ordered, waits until all is ready even where the revision
	// was not deployed in order.
	WaitStrategy WaitStrategy
	// IgnoreOrder changes everything at once, whatever the revision says.
	IgnoreOrder bool
	// ReadinessTimeout is how long each resource may take to get ready before
	// what depends on it is given up; 0 is ten seconds, cut down to Timeout.
	// One above Timeout is refused. Resources may say otherwise themselves.
	ReadinessTimeout time.Duration
	// MaxParallelHooks is how many hooks run at once, where the chart lets any run
	// in parallel; 0 is no limit. A negative one is refused.
	MaxParallelHooks int
	// FollowHookLogs reads the log of each hook that runs, about every second, and
	// tells OnEvent its last line.
	FollowHookLogs bool
	// Takeover says what becomes of a release that another operation works on, or did
	// until it died.
	Takeover Takeover
	// OnEvent, if set, is told of every step, one at a time, from goroutines of
	// the operation. It must return soon.
	OnEvent func(Event)

	cfg *Configuration
	// spared are objects to leave alone.
	spared map[sequencer.ID]bool
	// undoes is as in inquiry.
	undoes *undone
}

// NewRollback returns a Rollback with Helm's defaults.
func NewRollback(cfg *Configuration) *Rollback {
	return &Rollback{Rollback: helmaction.NewRollback(cfg), cfg: cfg}
}

// Run is RunWithContext without an end from outside.
func (r *Rollback) Run(name string) error {
	return r.RunWithContext(context.Background(), name) //nolint:forbidigo // the signature is Helm's
}

// RunWithContext rolls the release back. When ctx is done it stops, records the
// new revision as failed and returns; nothing of it goes on after that.
func (r *Rollback) RunWithContext(ctx context.Context, name string) error {
	if err := r.WaitStrategy.validate(); err != nil {
		return err
	}
	if err := errors.Join(r.Takeover.validate(), checkParallelHooks(r.MaxParallelHooks)); err != nil {
		return err
	}
	if err := r.cfg.KubeClient.IsReachable(); err != nil {
		return err
	}
	r.cfg.Releases.MaxHistory = r.MaxHistory
	r.cfg.Log("preparing rollback of %s", name)
	op := &rollingBack{Rollback: r, name: name}
	if err := op.load(ctx); err != nil {
		return err
	}
	if r.DryRun {
		r.cfg.Log("dry run for %s", name)
		return nil
	}
	limits, err := newTimeouts(r.Timeout, r.ReadinessTimeout, op.plan != nil)
	if err != nil {
		return err
	}
	base, ctx, end := startOperation(ctx, r.cfg, r.OnEvent, limits, op.plan != nil)
	defer end()
	op.operation = base
	base.begins(ctx, Operation{Name: "rollback", Release: name, Namespace: op.current.Namespace, Revision: op.current.Version + 1, Ordered: op.plan != nil})
	return base.result(ctx, op.run(ctx))
}

// order is the graph by which the target was deployed, with its record; nil if it
// was not deployed in order, or that is to be ignored. One whose record cannot
// be used is an error, unless the caller asks to wait as Helm does.
func (op *rollingBack) order() (*sequencer.Plan, *releaserecord.Record, error) {
	if op.IgnoreOrder {
		return nil, nil, nil
	}
	plan, rec, err := storedPlan(op.target)
	if isUnusable(err) && op.Wait && op.WaitStrategy == WaitStrategyNone {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%w: use --wait=true to roll back without any order", err)
	}
	return plan, rec, nil
}
