// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"
)

// Delete deletes objects with the propagation policy: neighbours of one kind side
// by side, kinds one after the other. Objects that are gone already are no error,
// and one that cannot be deleted does not keep the others. The errors come in the
// order of the list. An object that was read or written before, so that its UID is
// known, is deleted as that one alone: what has taken its name meanwhile stays. The
// objects that were there are returned, in the order of the list.
func (c *Client) Delete(ctx context.Context, list kube.ResourceList, policy metav1.DeletionPropagation) (kube.ResourceList, []error) {
	if len(list) == 0 {
		return nil, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, []error{err}
	}
	return c.backend.delete(ctx, list, policy)
}

func (n native) delete(ctx context.Context, list kube.ResourceList, policy metav1.DeletionPropagation) (kube.ResourceList, []error) {
	client, err := n.Dynamic()
	if err != nil {
		return nil, []error{err}
	}
	failures, gone := make([]error, len(list)), make([]bool, len(list))
	options := metav1.DeleteOptions{PropagationPolicy: &policy}
	kindByKind(list, func(i int) { gone[i], failures[i] = n.deleteOne(ctx, client, list[i], options) })
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

// deleteOne deletes an object, or finds it gone.
func (c *Client) deleteOne(ctx context.Context, client dynamic.Interface, info *resource.Info, options metav1.DeleteOptions) (gone bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	kind := info.Mapping.GroupVersionKind.Kind
	c.log("Starting delete for %q %s", info.Name, kind)
	if uid := UID(info); uid != "" {
		options.Preconditions = metav1.NewUIDPreconditions(string(uid))
	}
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		return objectsOf(client, info).Delete(ctx, info.Name, options)
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) && isReplaced(ctx, client, info) {
		c.log("Ignoring delete failure for %q %s: %v", info.Name, kind, err)
		return true, nil
	}
	return false, err
}

// isReplaced reports whether another object has the name of one whose UID is known.
func isReplaced(ctx context.Context, client dynamic.Interface, info *resource.Info) bool {
	uid := UID(info)
	if uid == "" {
		return false
	}
	live, err := get(ctx, client, info)
	return apierrors.IsNotFound(err) || err == nil && live.GetUID() != uid
}

// UID is the UID of an object, if it was read or written; else it is empty.
func UID(info *resource.Info) types.UID {
	object, err := meta.Accessor(info.Object)
	if err != nil {
		return ""
	}
	return object.GetUID()
}

func (d delegated) delete(_ context.Context, list kube.ResourceList, policy metav1.DeletionPropagation) (kube.ResourceList, []error) {
	if kc, ok := d.kube.(kube.InterfaceDeletionPropagation); ok {
		_, errs := kc.DeleteWithPropagationPolicy(list, policy)
		return list, errs
	}
	_, errs := d.kube.Delete(list)
	return list, errs
}
