// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package objectwriter

import (
	"context"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"

	"github.com/ordered-helm/helm/internal/object"
)

func (w *requestWriter) Delete(ctx context.Context, list kube.ResourceList, policy metav1.DeletionPropagation) (kube.ResourceList, []error) {
	if len(list) == 0 {
		return nil, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, []error{err}
	}
	client, err := w.cluster.Dynamic()
	if err != nil {
		return nil, []error{err}
	}
	failures, gone := make([]error, len(list)), make([]bool, len(list))
	options := metav1.DeleteOptions{PropagationPolicy: &policy}
	forEachByKind(list, func(i int) { gone[i], failures[i] = w.delete(ctx, client, list[i], options) })
	var deleted kube.ResourceList
	var errs []error
	for i, info := range list {
		switch {
		case failures[i] != nil:
			errs = append(errs, failures[i])
		case !gone[i]:
			deleted = append(deleted, info)
		}
	}
	return deleted, errs
}

// delete deletes an object. gone is true if the object no longer existed, or if another
// object now has its name.
func (w *requestWriter) delete(ctx context.Context, client dynamic.Interface, info *object.Info, options metav1.DeleteOptions) (gone bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	kind := info.Mapping.GroupVersionKind.Kind
	w.cluster.Log("Starting delete for %q %s", info.Name, kind)
	if uid := object.UID(info); uid != "" {
		options.Preconditions = metav1.NewUIDPreconditions(string(uid))
	}
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		return resourceOf(client, info).Delete(ctx, info.Name, options)
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) && w.isGone(ctx, info) {
		w.cluster.Log("Ignoring delete failure for %q %s: %v", info.Name, kind, err)
		return true, nil
	}
	return false, err
}

// isGone reports whether the object with the UID of info no longer exists, even if another
// object now has the same name. It returns false if info has no UID.
func (w *requestWriter) isGone(ctx context.Context, info *object.Info) bool {
	uid := object.UID(info)
	if uid == "" {
		return false
	}
	live, err := w.cluster.Get(ctx, info)
	return apierrors.IsNotFound(err) || err == nil && live.GetUID() != uid
}

func (w *requestWriter) DryRunDelete(ctx context.Context, info *object.Info, policy metav1.DeletionPropagation) error {
	client, err := w.cluster.Dynamic()
	if err != nil {
		return err
	}
	_, err = w.delete(ctx, client, info, metav1.DeleteOptions{PropagationPolicy: &policy, DryRun: []string{metav1.DryRunAll}})
	return err
}
