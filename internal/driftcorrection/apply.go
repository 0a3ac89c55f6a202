// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package driftcorrection

import (
	"context"
	"errors"
	"fmt"

	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/drift"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/inventory"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/objectwriter"
	"github.com/ordered-helm/helm/internal/operation"
)

// findDrift returns the objects of list that must be created or changed, and sends only requests
// that list objects. It returns an error if an object belongs to another owner.
func (c *correction) findDrift(ctx context.Context, list kube.ResourceList) (kube.ResourceList, error) {
	comparison := drift.Comparison{Cluster: c.op.Cluster, Owner: c.op.Store.OwnerOf(c.rel)}
	differences, err := comparison.Run(ctx, list)
	if err != nil {
		return nil, failure.PreferContextCause(ctx, err)
	}
	var problems []error
	for _, d := range differences {
		if d.Live != nil {
			d.Err = errors.Join(d.Err, c.checkOwner(d.Info, d.Live))
		}
		problems = append(problems, d.Err)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	var drifted kube.ResourceList
	c.redactSecrets(drift.Contents(differences))
	for _, d := range differences {
		switch {
		case d.State != drift.Unchanged:
			drifted.Append(d.Info)
			c.result.Drift = append(c.result.Drift, d.Masked(c.op.Events.Redactor()))
		case d.Live != nil:
			c.result.Unchanged++
		}
	}
	return drifted, nil
}

// options returns the options with which objects are re-applied. The base of each object is its
// declaration, so that fields which others have set stay. A Job that does not exist is not created
// if it was probably deleted because it had finished.
func (c *correction) options() objectwriter.ApplyOptions {
	o := drift.ApplyOptions()
	o.OptimisticLocking, o.MayChange = true, c.checkOwner
	o.Defer = func(_ context.Context, info *object.Info, live *unstructured.Unstructured, _ bool) (bool, error) {
		return live == nil && drift.HasTTLAfterFinished(info), nil
	}
	return o
}

// checkOwner returns an error if an object belongs to another owner according to live, its state
// in the cluster.
func (c *correction) checkOwner(info *object.Info, live *unstructured.Unstructured) error {
	if err := object.CheckOwner(live, c.owner()); err != nil {
		return fmt.Errorf("%s no longer belongs to release %s, and was not changed: %w", object.Describe(info), c.rel.Name, err)
	}
	return nil
}

// apply creates or changes objects. If another operation has begun meanwhile, it deletes again
// what it has created, because that operation may not know of it.
func (c *correction) apply(ctx context.Context, list kube.ResourceList) (*objectwriter.ApplyResult, error) {
	done, err := c.writer.Apply(ctx, list, c.options())
	c.recordWritten(done)
	created := append(done.States.All(done.Created), objectwriter.UnconfirmedCreations(err)...)
	if len(created) == 0 {
		return done, failure.PreferContextCause(ctx, err)
	}
	checkErr := c.check.run(context.WithoutCancel(ctx))
	if interrupted := c.check.interruptedError(); interrupted != nil {
		c.deleteCreated(context.WithoutCancel(ctx), created)
		return done, interrupted
	}
	return done, errors.Join(failure.PreferContextCause(ctx, err), checkErr)
}

// deleteCreated deletes created objects again. If it fails, it records the error in cleanupErr.
func (c *correction) deleteCreated(ctx context.Context, created kube.ResourceList) {
	cleanup, ctx, end := c.op.StartCleanup(ctx)
	defer end()
	err := c.deleteUndeclared(ctx, cleanup, created)
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.cleanupErr = errors.Join(c.cleanupErr, fmt.Errorf("objects that were created may be left; delete them unless the release needs them (%s): %w", object.Summarize(created), err))
	}
}

// deleteUndeclared deletes those of the created objects that the newest revision does not
// declare. The others belong to the other operation, which may have changed them already. Only
// objects with the UIDs that were created are deleted, or with the labels of the release if their
// UIDs are not known.
func (c *correction) deleteUndeclared(ctx context.Context, cleanup *operation.Operation, created kube.ResourceList) error {
	declared, err := c.declaredByNewest(ctx, cleanup)
	if err != nil {
		return err
	}
	list, err := c.confirmCreated(ctx, cleanup, created.Filter(func(info *object.Info) bool { return declared.Find(info) == nil }))
	if err != nil {
		return err
	}
	deleted, errs := cleanup.Writer.Delete(ctx, list, objectwriter.DeleteOptions{Propagation: metav1.DeletePropagationBackground})
	c.recordDeleted(deleted.Deleted)
	return errors.Join(errs...)
}

// declaredByNewest returns the objects that the newest revision declares: none if the release
// is uninstalled.
func (c *correction) declaredByNewest(ctx context.Context, cleanup *operation.Operation) (*inventory.Inventory, error) {
	newest, err := c.check.newest(ctx)
	if err != nil || newest == nil || newest.Info.Status == release.StatusUninstalling || newest.Info.Status == release.StatusUninstalled {
		return nil, err
	}
	complete, err := cleanup.Store.Read(newest.Name, newest.Version)
	if err != nil {
		return nil, err
	}
	declared := inventory.New([]*release.Release{complete}, complete)
	err = declared.ReadPlans(ctx, cleanup.Cluster, true)
	return declared, err
}

// confirmCreated returns the created objects with their UIDs. Of an object whose UID is not
// known, it finds out whether it exists and belongs to the release.
func (c *correction) confirmCreated(ctx context.Context, cleanup *operation.Operation, created kube.ResourceList) (kube.ResourceList, error) {
	confirmed := created.Filter(func(info *object.Info) bool { return object.UID(info) != "" })
	unknown := created.Filter(func(info *object.Info) bool { return object.UID(info) == "" })
	live, err := cleanup.Cluster.Live(ctx, unknown)
	if err != nil {
		return nil, err
	}
	for _, info := range unknown {
		if found := live[info]; found != nil && object.CheckOwner(found, c.owner()) == nil {
			confirmed = append(confirmed, object.WithState(info, found))
		}
	}
	return confirmed, nil
}
