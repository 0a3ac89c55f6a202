// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package objectwriter sends the requests that create, change and delete objects in a
// cluster, and dry-run requests that show what such requests would do. Package apply decides
// which objects to write. The functions of this package do not modify the objects that they
// receive. They return the states of the objects after the requests as separate results.
package objectwriter

import (
	"context"

	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/object"
)

// Writer creates, changes and deletes objects. One implementation sends its own requests.
// The other calls the methods of a Kubernetes client: a custom one, which was set by a
// program that embeds Helm, or one without a cluster.
type Writer interface {
	// Create creates objects that should not exist yet. It creates adjacent objects of the
	// same kind in parallel, and objects of different kinds sequentially. A failure does
	// not prevent the creation of other objects. The error is a *multierror.Error with the
	// failures in the order of list, as in Helm. Create returns the states of the created
	// objects even if it returns an error.
	Create(ctx context.Context, list kube.ResourceList) (object.LiveObjects, error)
	// CreateHook creates the objects of one hook sequentially, and stops at the first
	// failure. An object that already exists is a failure.
	CreateHook(ctx context.Context, list kube.ResourceList) (object.LiveObjects, error)
	// Apply creates objects, or changes existing ones to what is declared. It first reads
	// all objects. Then it writes adjacent objects of the same kind in parallel, and
	// objects of different kinds sequentially. A failure to change an object does not
	// prevent other objects from being written. After a failure to create an object, Apply
	// does not start with the next kind.
	//
	// Apply returns a result even if it returns an error. The error is an *ApplyError if
	// objects could not be written. It is the error of ctx if ctx was done early and
	// nothing else failed. A custom Kubernetes client applies objects in its own way,
	// returns its own errors, and ignores the options whose documentation says so.
	Apply(ctx context.Context, list kube.ResourceList, o ApplyOptions) (*ApplyResult, error)
	// DryRunApply finds out what Apply would do, with dry-run requests to the server. The
	// results are in the order of list. A failure to write an object is part of its result,
	// and does not end the dry run. DryRunApply returns an error only if no dry run was
	// possible.
	DryRunApply(ctx context.Context, list kube.ResourceList, o ApplyOptions) ([]DryRunResult, error)
	// DryRunCreate finds out with a dry-run request whether the server would accept an object. The object
	// can exist.
	DryRunCreate(ctx context.Context, info *object.Info) error
	// Delete deletes adjacent objects of the same kind in parallel, and objects of
	// different kinds sequentially. An object that does not exist is not an error, and a
	// failure does not prevent the deletion of other objects. If the UID of an object is
	// known, Delete does not delete another object with the same name. The errors are in the
	// order of list. Delete returns a result even if it returns errors.
	Delete(ctx context.Context, list kube.ResourceList, o DeleteOptions) (*DeleteResult, []error)
	// DryRunDelete finds out with a dry-run request whether an object can be deleted. It
	// returns nil if so, and also if the object does not exist.
	DryRunDelete(ctx context.Context, info *object.Info, policy metav1.DeletionPropagation) error
	// DeletePods deletes the pods that the objects in list, such as Deployments, select, so
	// that their controllers create new pods. It returns the deleted pods in the order of
	// list. It skips objects that select no pods. A pod that does not exist is not an
	// error. The error joins all failures. Without a cluster, DeletePods does nothing.
	DeletePods(ctx context.Context, list kube.ResourceList) ([]object.PodRef, error)
	// OwnedBy returns a Writer whose methods Create and Apply set the reference to a Release on
	// the objects; nil removes it. A custom Kubernetes client sets none.
	OwnedBy(release *object.ReleaseReference) Writer
	// Disown takes the reference to a Release away from those objects in list that exist and
	// have it. An empty UID means that there is no Release. With a custom Kubernetes client, and
	// without a cluster, Disown does nothing, because OwnedBy sets no references.
	Disown(ctx context.Context, release types.UID, list kube.ResourceList) error
}

// NewRequestWriter returns the Writer for operations that use Helm's own Kubernetes client. The Writer
// does not call the methods of that client, but sends its own requests.
func NewRequestWriter(c *cluster.Connection) Writer {
	return &requestWriter{requestPodDeleter: requestPodDeleter{c}}
}

// NewCustom returns the Writer for a custom Kubernetes client. The Writer calls the methods
// of that client, except to delete pods, for which kube.Interface has no method.
func NewCustom(client kube.Interface, c *cluster.Connection) Writer {
	return &delegatingWriter{client: client, podDeleter: requestPodDeleter{c}}
}

// NewWithoutCluster returns the Writer for a Kubernetes client without a cluster. The Writer
// calls the methods of that client.
func NewWithoutCluster(client kube.Interface) Writer {
	return &delegatingWriter{client: client, podDeleter: noPodDeleter{}}
}

// requestWriter is the Writer that sends its own requests.
type requestWriter struct {
	requestPodDeleter
	// release is the owner of the objects; nil if they have none.
	release *object.ReleaseReference
}

func (w *requestWriter) OwnedBy(release *object.ReleaseReference) Writer {
	owned := *w
	owned.release = release
	return &owned
}

func (w *delegatingWriter) OwnedBy(*object.ReleaseReference) Writer { return w }

// delegatingWriter is the Writer that calls the methods of a Kubernetes client.
type delegatingWriter struct {
	podDeleter
	client kube.Interface
}
