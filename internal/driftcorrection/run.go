// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package driftcorrection re-applies the last manifest of a release, so that its objects are
// again as they were deployed (docs/reference.md, "Correcting drift"). It creates no revision,
// runs no hooks, and does not change the stored release. Therefore, it cannot lock the release:
// instead, it stops as soon as another operation begins.
package driftcorrection

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/drift"
	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/objectwriter"
	"github.com/ordered-helm/helm/internal/operation"
	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/redact"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// operationName is the name of the operation in its events.
const operationName = "correct-drift"

// CorrectDrift makes the objects of a release again as they were deployed, by re-applying the
// manifest of the deployed revision. It creates no revision, runs no hooks, and does not change
// the stored release. If nothing has drifted, it sends no request that changes anything
// (docs/reference.md, "Correcting drift").
//
// CorrectDrift does not lock the release. It stops if another operation begins.
type CorrectDrift struct {
	// Timeout limits the whole operation. 0 means no limit.
	Timeout time.Duration
	// ReadinessTimeout is as in Rollback. It is used only if the revision was deployed in
	// order, and only for objects that were created or changed.
	ReadinessTimeout time.Duration
	// OnEvent, if not nil, is called with each event of the operation, as in Rollback.
	OnEvent func(event.Event)

	cfg *helmaction.Configuration
}

// New returns a CorrectDrift without timeouts.
func New(cfg *helmaction.Configuration) *CorrectDrift { return &CorrectDrift{cfg: cfg} }

// Result describes what CorrectDrift has done. Created and Changed are sorted, and contain kinds and
// names, as in "Deployment/shop".
type Result struct {
	// Revision is the revision whose manifest was re-applied.
	Revision int
	// Created are the objects that did not exist, and Changed those that were not as declared.
	Created, Changed []string
	// Unchanged is the number of objects that were as declared.
	Unchanged int
	// Drift describes the objects that were not as declared before the correction, with the fields
	// that differed and who had set them. The contents of Secrets are masked.
	Drift []drift.Object
}

// RunWithContext corrects the drift of the release with the given name. If the release is locked,
// the error is a *lease.HeldError, and if its newest revision is not deployed for another reason,
// a *drift.NotDeployedError. If another operation begins meanwhile, it is an *InterruptedError. If the
// revision was deployed in order, and objects cannot be applied or do not become ready, it is a
// *failure.DeployError.
//
// When ctx is done, RunWithContext stops, and returns an error that wraps the cause of ctx. None
// of its work continues after it has returned. If it has begun before it fails, the result says
// what it has done until then; otherwise the result is nil.
func (d *CorrectDrift) RunWithContext(ctx context.Context, name string) (*Result, error) {
	limits, err := operation.NewTimeouts(d.Timeout, d.ReadinessTimeout, true)
	if err != nil {
		return nil, err
	}
	if err := d.cfg.KubeClient.IsReachable(); err != nil {
		return nil, err
	}
	if err := chartutil.ValidateReleaseName(name); err != nil {
		return nil, fmt.Errorf("release name is invalid: %s", name)
	}
	rel, err := drift.ReadDeployed(history.NewStore(history.ReadsNewestAlone(ctx, d.cfg.Releases), d.cfg.Log), name)
	if err != nil {
		return nil, err
	}
	check := &revisionCheck{store: history.NewStore(d.cfg.Releases, d.cfg.Log), rel: rel}
	op, bounded, end := operation.Start(ctx, d.cfg, operation.StartOptions{
		Notify: d.OnEvent, Timeouts: limits, Bounded: true, Guard: func() error { return check.run(ctx) },
	})
	defer end()
	c, err := newCorrection(op, rel, check)
	if err != nil {
		return nil, err
	}
	op.Announce(event.Operation{Name: operationName, Release: name, Namespace: rel.Namespace, Revision: rel.Version, Ordered: c.plan != nil})
	err = c.run(bounded)
	if interrupted := check.interruptedError(); interrupted != nil {
		err = errors.Join(interrupted, c.cleanupErr) // other errors are only consequences
	}
	return c.sortedResult(), op.Finish(bounded, err)
}

// correction is one run of the operation.
type correction struct {
	op  *operation.Operation
	rel *release.Release
	// plan is the deployment graph of the revision, and record its order record. Both are nil
	// if the revision was not deployed in order.
	plan   *sequencer.Plan
	record *orderrecord.Record
	check  *revisionCheck
	writer objectwriter.Writer

	// mu guards the fields below.
	mu     sync.Mutex
	result Result
	// cleanupErr says which objects may be left although they should have been deleted again;
	// nil if there are none.
	cleanupErr error
}

func newCorrection(op *operation.Operation, rel *release.Release, check *revisionCheck) (*correction, error) {
	if op.Delegates() {
		return nil, errors.New("drift cannot be corrected with a custom Kubernetes client: it cannot send patches with a resource version")
	}
	plan, record, err := history.PlanFor(rel, history.PlanOptions{AsDeployed: true, DisableHooks: true, IgnoreExternal: true})
	if err != nil {
		return nil, err
	}
	return &correction{
		op: op, rel: rel, plan: plan, record: record, check: check, writer: op.Writer.OwnedBy(op.Store.OwnerOf(rel)),
		result: Result{Revision: rel.Version},
	}, nil
}

func (c *correction) owner() object.OwningRelease {
	return object.OwningRelease{Name: c.rel.Name, Namespace: c.rel.Namespace}
}

func (c *correction) run(ctx context.Context) error {
	if c.plan != nil {
		return c.runOrdered(ctx)
	}
	return c.runUnordered(ctx)
}

// runUnordered corrects the drift of a release that was not deployed in order. Like Helm, it does
// not wait until objects are ready.
func (c *correction) runUnordered(ctx context.Context) error {
	list, err := c.op.Cluster.Build([]byte(c.rel.Manifest), false)
	if err != nil {
		return fmt.Errorf("unable to build kubernetes objects from the manifest of the release: %w", err)
	}
	list = drift.LastDeclarations(list)
	if err := object.SetOwner(list, c.owner()); err != nil {
		return err
	}
	c.redactSecrets(object.Contents(list))
	drifted, err := c.findDrift(ctx, list)
	if err != nil || len(drifted) == 0 {
		return err
	}
	_, err = c.apply(ctx, drifted)
	return err
}

// redactSecrets redacts the contents of the Secrets of the release in all later messages of the
// operation. contents are those of its objects.
func (c *correction) redactSecrets(contents []map[string]any) {
	c.op.Events.RedactWith(redact.ForObjects(append(contents, redact.HookObjects(c.rel.Hooks)...)))
}

// recordWritten adds what was written to the result.
func (c *correction) recordWritten(done *objectwriter.ApplyResult) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.result.Created = append(c.result.Created, objectNames(done.Created)...)
	c.result.Changed = append(c.result.Changed, objectNames(done.Updated)...)
	c.result.Unchanged += len(done.Unchanged)
}

// recordDeleted removes objects from the result that were created and deleted again.
func (c *correction) recordDeleted(list kube.ResourceList) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range objectNames(list) {
		if i := slices.Index(c.result.Created, name); i >= 0 {
			c.result.Created = slices.Delete(c.result.Created, i, i+1)
		}
	}
}

// objectNames returns kinds and names, as in "Deployment/shop".
func objectNames(list kube.ResourceList) []string {
	var names []string
	for _, info := range list {
		names = append(names, object.IDOf(info).String())
	}
	return names
}

func (c *correction) sortedResult() *Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.Sort(c.result.Created)
	slices.Sort(c.result.Changed)
	result := c.result
	return &result
}
