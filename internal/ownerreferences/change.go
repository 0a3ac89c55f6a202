// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package ownerreferences finds the objects that have a reference to a Release, and adds and removes such references: the
// garbage collector deletes these objects with the Release (docs/reference.md, "Owner references").
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
	return changeObjects(ctx, client, objects, "remove the owner reference from %s: %w", func(live metav1.Object) ([]metav1.OwnerReference, bool) {
		if !IsOwned(live, release) {
			return nil, false
		}
		return slices.DeleteFunc(live.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == release }), true
	})
}

// Add adds a reference to each object that exists and does not have it.
func Add(ctx context.Context, client metadata.Interface, reference metav1.OwnerReference, objects []Object) error {
	return changeObjects(ctx, client, objects, "add an owner reference to %s: %w", func(live metav1.Object) ([]metav1.OwnerReference, bool) {
		references := live.GetOwnerReferences()
		if live.GetDeletionTimestamp() != nil || slices.Contains(references, reference) {
			return nil, false
		}
		return append(references, reference), true
	})
}

// IsOwned reports whether an object has a reference to a Release, and is not being deleted.
func IsOwned(object metav1.Object, release types.UID) bool {
	return object.GetDeletionTimestamp() == nil &&
		slices.ContainsFunc(object.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == release })
}

// changeFunc returns the owner references that an object must have. changed is false if it has them.
type changeFunc func(live metav1.Object) (references []metav1.OwnerReference, changed bool)

// changeObjects changes the owner references of the objects that exist. It wraps errors in format, with the object.
func changeObjects(ctx context.Context, client metadata.Interface, objects []Object, format string, change changeFunc) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(maxParallel)
	for _, o := range objects {
		g.Go(func() error {
			if err := changeObject(ctx, client.Resource(o.Resource).Namespace(o.Namespace), o.Name, change); err != nil {
				return fmt.Errorf(format, o, err)
			}
			return nil
		})
	}
	return g.Wait()
}

// changeObject changes the owner references of one object. Of the state with which the API server responds to the last
// request, change says that nothing has to be changed.
func changeObject(ctx context.Context, client metadata.ResourceInterface, name string, change changeFunc) error {
	live, err := client.Get(ctx, name, metav1.GetOptions{})
	for range maxAttempts {
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		references, changed := change(live)
		if !changed {
			return nil
		}
		var patch []byte
		if patch, err = json.Marshal(map[string]any{"metadata": map[string]any{
			"uid": live.GetUID(), "resourceVersion": live.GetResourceVersion(), "ownerReferences": references,
		}}); err != nil {
			return err
		}
		live, err = client.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "helm"})
		if apierrors.IsConflict(err) {
			live, err = client.Get(ctx, name, metav1.GetOptions{})
		}
	}
	if err == nil {
		err = errors.New("another program changes it back, or changes the object all the time")
	}
	return err
}
