// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/recreation"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// newRecreator returns the Recreator of the run; nil if objects cannot be recreated.
func (r *Run) newRecreator() *recreation.Recreator {
	if r.inventory == nil || r.op.Delegates() {
		return nil
	}
	rules, _ := recreation.ParseRules(r.options.Recreate) // checkRecreation returns the error
	return recreation.New(recreation.Config{
		Cluster: r.op.Cluster, Writer: r.op.Writer, Waiter: r.op.Waiter, Events: r.op.Events, Storage: r.op.RecreatedObjects(),
		Owner: r.owner(), Revision: r.Release().Version, Installed: r.Release().Info.FirstDeployed.Time, Rules: rules, Undo: r.options.Undo, Timeout: r.options.Timeout,
	})
}

// checkRecreation returns an error if the user or the chart allows the recreation of objects that must not be
// recreated, or that do not exist.
func (r *Run) checkRecreation() error {
	rules, err := recreation.ParseRules(r.options.Recreate)
	if err != nil {
		return err
	}
	if r.recreator == nil && len(rules) > 0 {
		return errors.New("objects can be recreated only with Helm's own Kubernetes client")
	}
	warnings, err := rules.CheckUse(r.ids())
	if err != nil {
		return err
	}
	for _, warning := range warnings {
		r.op.Events.Warn(warning)
	}
	return r.checkOnImmutable()
}

// checkOnImmutable returns an error if an object has an invalid annotation helm.sh/on-immutable.
func (r *Run) checkOnImmutable() error {
	if r.options.SkipChartChecks {
		return nil
	}
	for _, info := range r.strategy.objects().declared() {
		declared, isUnstructured := info.Object.(*unstructured.Unstructured)
		if !isUnstructured {
			continue
		}
		if _, err := annotation.ReadOnImmutable(declared.Object); err != nil {
			return fmt.Errorf("%s: %w", object.Describe(info), err)
		}
	}
	return nil
}

// ids returns the identities of the objects that the run deploys.
func (r *Run) ids() []sequencer.ID {
	var ids []sequencer.ID
	for _, n := range r.strategy.nodes() {
		for i, info := range n.List {
			if info != nil {
				ids = append(ids, object.IDOf(info))
			} else {
				ids = append(ids, n.Resources[i].ID)
			}
		}
	}
	return ids
}

// recoverObjects creates objects again that earlier operations have deleted, but not created.
func (r *Run) recoverObjects(ctx context.Context) error {
	if r.recreator == nil {
		return nil
	}
	if err := r.recreator.Recover(ctx, r.revisions); err != nil {
		return fmt.Errorf("recover recreated objects: %w", err)
	}
	return nil
}

// forgetRecreated deletes the copies of the objects that this operation and earlier ones have recreated.
func (r *Run) forgetRecreated(ctx context.Context) {
	if r.recreator != nil {
		r.recreator.RemoveCopies(ctx)
	}
}

// Recreation returns how Perform would recreate an object whose change the server has rejected in a dry run. live is its
// state in the cluster.
func (r *Run) Recreation(ctx context.Context, info *object.Info, live *unstructured.Unstructured, rejected error) recreation.Decision {
	if r.recreator == nil {
		return recreation.Decision{}
	}
	return r.recreator.Decide(ctx, info, live, rejected)
}
