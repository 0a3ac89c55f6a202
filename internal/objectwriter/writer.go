// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package objectwriter sends the requests that create, change and delete objects in a
// cluster, or dry-run requests to find out the effect. Package apply decides which objects
// to write. The writer does not modify the given objects; it returns the states that the
// server returns as separate results.
package objectwriter

import (
	"context"

	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/object"
)

// Writer creates, changes and deletes objects. One implementation sends its own requests.
// The other delegates to a custom Kubernetes client: one that a program which embeds Helm
// has set. Neither changes the objects that it receives.
type Writer interface {
	// Create creates objects that are assumed to be absent: adjacent objects of the same
	// kind in parallel, and kinds one after the other. A failure does not prevent the
	// creation of other objects. The error is a *multierror.Error in the order of the list,
	// as in Helm. Create returns the states of the created objects even if it returns an
	// error.
	Create(ctx context.Context, list kube.ResourceList) (object.LiveObjects, error)
	// CreateHook creates the objects of one hook one after the other, and stops at the
	// first failure. An object that already exists is a failure.
	CreateHook(ctx context.Context, list kube.ResourceList) (object.LiveObjects, error)
	// Apply creates objects, or changes existing ones to what is declared. It first reads
	// all objects. Then it writes adjacent objects of the same kind in parallel, and kinds
	// one after the other. A failure to change an object does not prevent the others from
	// being applied. After a failure to create an object, Apply starts no further kind.
	//
	// Apply returns a result even if it returns an error. The error is an *ApplyError if
	// objects failed. It is the error of the context if the context ended early and nothing
	// else failed. A custom Kubernetes client applies objects in its own way, returns its
	// own errors, and ignores those options whose documentation says so.
	Apply(ctx context.Context, list kube.ResourceList, o ApplyOptions) (*Applied, error)
	// DryRunApply asks the server, with dry-run requests, what Apply would do. The results
	// are in the order of the list. The failure of an object does not end the dry run. It
	// returns an error only if the dry run was not possible.
	DryRunApply(ctx context.Context, list kube.ResourceList, o ApplyOptions) ([]DryRunResult, error)
	// Delete deletes objects: adjacent objects of the same kind in parallel, and kinds one
	// after the other. An object that does not exist is not an error, and a failure does
	// not prevent the deletion of other objects. If the UID of an object is known, Delete
	// does not delete another object with the same name. Delete returns the objects that
	// existed, and the errors, both in the order of the list.
	Delete(ctx context.Context, list kube.ResourceList, policy metav1.DeletionPropagation) (kube.ResourceList, []error)
	// DryRunDelete asks the server, with a dry-run request, whether an object can be
	// deleted. It returns nil for an object that does not exist.
	DryRunDelete(ctx context.Context, info *object.Info, policy metav1.DeletionPropagation) error
	// DeletePods deletes the pods that the objects in list select, so that their
	// controllers create new ones, and returns the deleted pods in the order of the list.
	// It skips objects that select no pods. A pod that does not exist is not an error. The
	// error joins all failures. Without a cluster, it does nothing.
	DeletePods(ctx context.Context, list kube.ResourceList) ([]object.PodRef, error)
}

// New returns the Writer for Helm's own Kubernetes client. It does not call the methods of
// that client, but sends requests to the API server itself.
func New(c *cluster.Connection) Writer { return &requestWriter{podRequests{c}} }

// NewCustom returns the Writer for a custom Kubernetes client. It calls the methods of that
// client, except to delete pods, for which Helm's clients have no method.
func NewCustom(client kube.Interface, c *cluster.Connection) Writer {
	return &delegatingWriter{client: client, podDeleter: podRequests{c}}
}

// NewWithoutCluster returns the Writer for a client without a cluster. It calls the methods
// of that client.
func NewWithoutCluster(client kube.Interface) Writer {
	return &delegatingWriter{client: client, podDeleter: noPods{}}
}

// requestWriter is the Writer that sends its own requests.
type requestWriter struct{ podRequests }

// delegatingWriter is the Writer that calls the methods of a Kubernetes client.
type delegatingWriter struct {
	podDeleter
	client kube.Interface
}
