// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package releaseapplication writes the Application (app.k8s.io) that owns the Release of a release, in clusters that
// serve this kind (docs/reference.md, "Applications").
package releaseapplication

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/ordered-helm/helm/internal/releaseapi"
)

// maxAttempts is how often an Application is written again after others have changed it in the meantime.
const maxAttempts = 5

// Client writes the Applications of one namespace.
type Client struct {
	applications dynamic.ResourceInterface
}

// NewClient returns a client for a namespace.
func NewClient(client dynamic.Interface, namespace string) *Client {
	return &Client{client.Resource(schema.GroupVersionResource{Group: group, Version: version, Resource: resource}).Namespace(namespace)}
}

// Create creates the Application of a release, and returns the reference to it for parent, the Release. rel is the
// revision that it describes. The reference is nil if the cluster does not serve the kind, if somebody else has an
// Application with the name, or if the release itself contains one.
func (c *Client) Create(ctx context.Context, parent *releaseapi.Release, rel *release.Release) (*metav1.OwnerReference, error) {
	if declared(rel) != nil {
		return nil, nil
	}
	wanted := newApplication(parent, rel)
	for range maxAttempts {
		created, err := c.applications.Create(ctx, wanted, metav1.CreateOptions{})
		if err == nil {
			return ownerReferenceTo(created), nil
		}
		if !apierrors.IsAlreadyExists(err) {
			if releaseapi.IsPathNotFound(err) {
				return nil, nil
			}
			return nil, fmt.Errorf("create Application %s: %w", parent.Name, err)
		}
		existing, err := c.applications.Get(ctx, parent.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return nil, fmt.Errorf("read Application %s: %w", parent.Name, err)
		case existing.GetAnnotations()[releaseUIDAnnotation] == string(parent.UID):
			return ownerReferenceTo(existing), nil // a simultaneous operation has created it
		case !isCreatedByHelm(existing):
			return nil, nil
		}
		// It describes an earlier Release with the name, whose deletion was interrupted. That deletion can no longer
		// delete it, because it has another UID of a Release then.
		wanted.SetResourceVersion(existing.GetResourceVersion())
		updated, err := c.applications.Update(ctx, wanted, metav1.UpdateOptions{})
		if err == nil {
			return ownerReferenceTo(updated), nil
		}
		if wanted.SetResourceVersion(""); !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("update Application %s: %w", parent.Name, err)
		}
	}
	return nil, fmt.Errorf("create Application %s: %w", parent.Name, errors.New("other programs create and delete it all the time"))
}

// Describe makes the Application that owns parent, a Release, describe rel, a new revision. It does nothing if none owns
// it. If the revision itself contains the Application, it gets the spec that the chart declares: like
// Helm, an upgrade that takes over a custom resource would not change its fields.
func (c *Client) Describe(ctx context.Context, parent *releaseapi.Release, rel *release.Release) error {
	owner := owningApplication(parent)
	if owner == nil {
		return nil
	}
	kind, changes := types.MergePatchType, any(map[string]any{"metadata": map[string]any{"uid": owner.UID}, "spec": spec(rel)})
	if own := declared(rel); own != nil {
		kind, changes = types.JSONPatchType, []any{
			map[string]any{"op": "test", "path": "/metadata/uid", "value": owner.UID},
			map[string]any{"op": "add", "path": "/spec", "value": own.Spec},
		}
	}
	patch, err := json.Marshal(changes)
	if err != nil {
		return err
	}
	if _, err = c.applications.Patch(ctx, owner.Name, kind, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("update Application %s: %w", owner.Name, err)
	}
	return nil
}

// Delete deletes the Application of parent, a Release that is deleted.
func (c *Client) Delete(ctx context.Context, parent *releaseapi.Release) error {
	// A Release that nothing owns may have an Application if it has no revision: the operation was interrupted.
	if owningApplication(parent) == nil && parent.Status.Revision > 0 {
		return nil
	}
	var err error
	for range maxAttempts {
		var existing *unstructured.Unstructured
		existing, err = c.applications.Get(ctx, parent.Name, metav1.GetOptions{})
		if apierrors.IsForbidden(err) && owningApplication(parent) == nil {
			return nil
		}
		if apierrors.IsNotFound(err) || err == nil && existing.GetAnnotations()[releaseUIDAnnotation] != string(parent.UID) {
			return nil
		}
		if err == nil {
			uid, resourceVersion := existing.GetUID(), existing.GetResourceVersion()
			err = c.applications.Delete(ctx, parent.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &resourceVersion}})
		}
		if err == nil || apierrors.IsNotFound(err) {
			return nil
		}
		if !apierrors.IsConflict(err) {
			break
		}
	}
	return fmt.Errorf("delete Application %s: %w", parent.Name, err)
}

// SetOwner adds the reference to an Application to a Release, or removes it if rel, the newest revision, itself contains
// an Application with the name: it would be deleted before the other objects of the release, and these with it.
func SetOwner(parent *releaseapi.Release, application *metav1.OwnerReference, rel *release.Release) {
	switch {
	case application != nil:
		parent.OwnerReferences = append(withoutApplications(parent.OwnerReferences), *application)
	case owningApplication(parent) != nil && declared(rel) != nil:
		parent.OwnerReferences = withoutApplications(parent.OwnerReferences)
	}
}

func withoutApplications(references []metav1.OwnerReference) []metav1.OwnerReference {
	return slices.DeleteFunc(slices.Clone(references), isApplication)
}

// owningApplication returns the reference to the Application that owns a Release; nil if none does.
func owningApplication(parent *releaseapi.Release) *metav1.OwnerReference {
	i := slices.IndexFunc(parent.OwnerReferences, func(r metav1.OwnerReference) bool { return isApplication(r) && r.Name == parent.Name })
	if i < 0 {
		return nil
	}
	return &parent.OwnerReferences[i]
}

func isApplication(r metav1.OwnerReference) bool { return r.APIVersion == apiVersion && r.Kind == kind }

func ownerReferenceTo(application *unstructured.Unstructured) *metav1.OwnerReference {
	return &metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: application.GetName(), UID: application.GetUID()}
}

// isCreatedByHelm reports whether Create has created an Application, for this Release or another one.
func isCreatedByHelm(application *unstructured.Unstructured) bool {
	return application.GetAnnotations()[releaseUIDAnnotation] != "" && application.GetDeletionTimestamp() == nil
}
