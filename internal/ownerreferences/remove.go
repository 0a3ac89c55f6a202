// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package ownerreferences finds the objects that have a reference to a Release, and takes such references away, so that
// the garbage collector does not delete the objects with the Release (docs/reference.md, "Owner references").
package ownerreferences

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
)

const (
	// maxAttempts is how often an object is written again after others have changed it in the meantime.
	maxAttempts = 5
	// maxParallel is how many requests are sent at the same time.
	maxParallel = 8
)

// Object identifies an object in the cluster.
type Object struct {
	Resource schema.GroupVersionResource
	// Namespace is empty for a cluster-scoped object.
	Namespace, Name string
}

func (o Object) String() string {
	return fmt.Sprintf("%s %s in namespace %s", o.Resource.GroupResource(), o.Name, o.Namespace)
}

// Remove takes the reference to a Release away from each object that exists and has it. It returns nil when the API
// server has confirmed that none of them has it. An object that is being deleted can keep it.
func Remove(ctx context.Context, client metadata.Interface, release types.UID, objects []Object) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(maxParallel)
	for _, o := range objects {
		g.Go(func() error {
			err := removeFrom(ctx, client.Resource(o.Resource).Namespace(o.Namespace), o.Name, release)
			if err != nil {
				return fmt.Errorf("remove the owner reference from %s: %w", o, err)
			}
			return nil
		})
	}
	return g.Wait()
}

// IsOwned reports whether an object has a reference to a Release, and is not being deleted.
func IsOwned(object metav1.Object, release types.UID) bool {
	return object.GetDeletionTimestamp() == nil &&
		slices.ContainsFunc(object.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == release })
}

// removeFrom takes the reference away from one object. The state with which the API server responds to the last
// request does not have it.
func removeFrom(ctx context.Context, client metadata.ResourceInterface, name string, release types.UID) error {
	live, err := client.Get(ctx, name, metav1.GetOptions{})
	for range maxAttempts {
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil || !IsOwned(live, release) {
			return err
		}
		var patch []byte
		if patch, err = patchWithout(live, release); err != nil {
			return err
		}
		live, err = client.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "helm"})
		if apierrors.IsConflict(err) {
			live, err = client.Get(ctx, name, metav1.GetOptions{})
		}
	}
	if err == nil {
		err = errors.New("another program sets it again, or changes the object all the time")
	}
	return err
}

// patchWithout returns a patch that sets the owner references of an object without those to a Release, if nobody has
// changed the object.
func patchWithout(live metav1.Object, release types.UID) ([]byte, error) {
	references := slices.DeleteFunc(live.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == release })
	return json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": live.GetUID(), "resourceVersion": live.GetResourceVersion(), "ownerReferences": references,
	}})
}
