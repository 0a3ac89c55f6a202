// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/releaseutil"

	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/inventory"
	"github.com/ordered-helm/helm/internal/lease"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/objectwriter"
	"github.com/ordered-helm/helm/internal/operation"
	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/text"
)

// unordered is the strategy that deletes all objects without ordering, as Helm does.
type unordered struct {
	op        *operation.Operation
	writer    *history.Writer
	inventory *inventory.Inventory
	options   Options
	// documents are the documents of the manifest whose objects will be deleted, in Helm's
	// uninstall order.
	documents []releaseutil.Manifest
}

func (u *unordered) prepare(context.Context) (kept string, err error) {
	rel := u.writer.Release()
	if rec, err := orderrecord.Read(rel); err == nil {
		if err := u.writer.SetStoredRecord(lease.WithoutLease(rec)); err != nil {
			return "", err
		}
	}
	_, documents, err := releaseutil.SortManifests(releaseutil.SplitManifests(rel.Manifest), nil, releaseutil.UninstallOrder)
	if err != nil {
		u.op.Log("uninstall: Failed to delete release: %s", u.op.Events.RedactError(err))
		return "", fmt.Errorf("failed to delete release: %s", rel.Name)
	}
	var list strings.Builder
	for _, d := range documents {
		if d.Head.Metadata != nil && object.PolicyKeeps(d.Head.Metadata.Annotations[kube.ResourcePolicyAnno]) {
			fmt.Fprintf(&list, "[%s] %s\n", d.Head.Kind, d.Head.Metadata.Name)
		} else {
			u.documents = append(u.documents, d)
		}
	}
	return list.String(), nil
}

func (u *unordered) deleteObjects(ctx context.Context) (kube.ResourceList, error) {
	var manifest strings.Builder
	for _, d := range u.documents {
		manifest.WriteString("\n---\n" + d.Content)
	}
	built, err := u.op.Cluster.Build([]byte(manifest.String()), false)
	if err != nil {
		return nil, fmt.Errorf("unable to build kubernetes objects for delete: %w", err)
	}
	var list kube.ResourceList
	for _, info := range u.withLeftovers(ctx, built) {
		if len(u.options.Spared) == 0 || !u.options.Spared[object.IDOf(info)] {
			list = append(list, info)
		}
	}
	_, errs := u.op.Writer.Delete(ctx, list, objectwriter.DeleteOptions{Propagation: propagation(u.options.Propagation, u.op.Log)})
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return list, nil
}

// withLeftovers adds to list the objects that other revisions may have left in the cluster,
// if any revision was deployed in order. In this case, it also removes objects that do not
// exist or do not belong to the release. If it cannot read the objects, it warns and returns
// list unchanged.
func (u *unordered) withLeftovers(ctx context.Context, list kube.ResourceList) kube.ResourceList {
	inv := u.inventory
	if !inv.IsOrdered() || u.op.Delegates() {
		return list
	}
	err := inv.ReadPlans(ctx, u.op.Cluster, true)
	all := slices.Clone(list)
	for _, info := range inv.Objects() {
		if !inv.IsOfBase(object.IDOf(info)) {
			all = append(all, info)
		}
	}
	live, unreadable := u.op.Cluster.Live(ctx, all)
	if err := errors.Join(err, unreadable); err != nil {
		u.op.Events.Warnf("resources that earlier revisions may have left are not deleted: %v", err)
		return list
	}
	policies := inv.Policies()
	return slices.DeleteFunc(all, func(info *object.Info) bool {
		if live[info] == nil {
			return true
		}
		why := inv.WhyKeep(live[info], policies, true)
		if why != "" {
			u.op.Events.Warnf("%s is not deleted: %s", object.Describe(info), why)
		}
		return why != ""
	})
}

func (u *unordered) hookError(ctx context.Context, err error) error {
	return failure.PreferContextCause(ctx, err)
}

func (u *unordered) deletionError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	// Helm's message does not contain the cause.
	name := u.writer.Release().Name
	u.op.Events.Warnf("release %s could not be deleted completely: %s", name, text.OneLine(err.Error()))
	return fmt.Errorf("failed to delete release: %s", name)
}

func (u *unordered) waitTimeout() time.Duration { return u.options.Timeout }

func (u *unordered) restoresRelease() bool { return true }

func (u *unordered) plan() *sequencer.Plan { return nil }
