// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package objectwriter writes objects to a cluster: it creates, changes and deletes them, or
// has the server say what that would do. The objects that it is given stay as they are
// declared: the state that the server returns is a result.
package objectwriter

import (
	"context"

	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/object"
)

// Writer writes objects.
type Writer interface {
	// Create creates objects that are assumed to be absent: adjacent objects of the same
	// kind in parallel, kinds one after the other. A failure does not prevent the creation
	// of the others. The error is a *multierror.Error, as Helm's is, in the order of the
	// list. It returns the states of the objects that were created, with an error, too.
	Create(ctx context.Context, list kube.ResourceList) (object.States, error)
	// CreateHook creates the objects of a hook, one after the other, and ends with the first
	// failure. An object that exists is a failure.
	CreateHook(ctx context.Context, list kube.ResourceList) (object.States, error)
	// Apply creates objects, or changes those that exist to what is declared. It reads all
	// of them first. Then it writes adjacent objects of the same kind in parallel, and kinds
	// one after the other. A failure to change an object does not prevent the others from
	// being applied; after a failure to create an object no further kind is started.
	//
	// The result says what was done, with an error, too. The error is an *ApplyError if
	// objects failed, and that of the context if it ended early and nothing else failed. A
	// Kubernetes client of another implementation applies objects in its own way, ignores
	// the options that say so, and returns errors of its own.
	Apply(ctx context.Context, list kube.ResourceList, o ApplyOptions) (*Applied, error)
	// DryRunApply has the server say what Apply would do, and stores nothing. The results
	// are in the order of the list. A failure does not end the dry run. An error is that
	// there could be none.
	DryRunApply(ctx context.Context, list kube.ResourceList, o ApplyOptions) ([]DryRun, error)
	// Delete deletes objects: adjacent objects of the same kind in parallel, kinds one after
	// the other. An object that does not exist is no error, and a failure does not prevent
	// the deletion of the others. An object whose UID is known is deleted only if it still
	// has that UID: another object of the same name stays. Delete returns the objects that
	// existed, and the errors, both in the order of the list.
	Delete(ctx context.Context, list kube.ResourceList, policy metav1.DeletionPropagation) (kube.ResourceList, []error)
	// DryRunDelete has the server say whether an object could be deleted, and deletes
	// nothing. An object that does not exist is no error.
	DryRunDelete(ctx context.Context, info *object.Info, policy metav1.DeletionPropagation) error
	// DeletePods deletes the pods that the objects select, so that their controllers create
	// new ones, and returns those that it deleted, in the order of the list. It skips
	// objects that select no pods. A pod that does not exist is no error. The error joins
	// all failures. Without a cluster there are no pods.
	DeletePods(ctx context.Context, list kube.ResourceList) ([]object.PodRef, error)
}

// New returns a writer that sends requests of its own, or delegates the writing to the
// Kubernetes client of the cluster if that is of another implementation.
func New(c *cluster.Client) Writer {
	if c.IsNative() {
		return &requestWriter{podDeleter{c}}
	}
	return &delegatingWriter{podDeleter{c}}
}

// requestWriter sends requests of its own. It is for Helm's Kubernetes client.
type requestWriter struct{ podDeleter }

// delegatingWriter leaves the writing to the Kubernetes client. It is for a client of
// another implementation, and for one without a cluster.
type delegatingWriter struct{ podDeleter }
