// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"sync"

	"helm.sh/helm/v3/pkg/kube"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/dynamic"

	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/releaseapi"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// Reader reads objects and permissions from the cluster.
type Reader interface {
	// Live reads the current states of objects from the cluster. The result has no entry
	// for an object that does not exist. If objects cannot be read, the error is a
	// ReadError for the first of them, in the order of list. If ctx is done, the error is
	// that of ctx. Without a cluster, Live reads each object with the Client of its Info.
	Live(ctx context.Context, list kube.ResourceList) (map[*resource.Info]*unstructured.Unstructured, error)
	// Existing does what Live does if there is a cluster. Without a cluster, it reads
	// nothing and assumes that all objects exist: the result has an entry for each object,
	// whose state is nil.
	Existing(ctx context.Context, list kube.ResourceList) (map[*resource.Info]*unstructured.Unstructured, error)
	// LiveCRDs does what Live does for CRDs, with one list request if the account is allowed to
	// list them. Without a cluster, it reads nothing, and assumes that none exists.
	LiveCRDs(ctx context.Context, list kube.ResourceList) (map[*resource.Info]*unstructured.Unstructured, error)
	// List reads the current states of objects, with their managed fields, with one list request for
	// each kind and namespace. If the account is not allowed to list a kind, List reads each of its
	// objects. live has no entry for an object that does not exist, and unread contains the errors
	// for objects that cannot be read: NotFound if the server does not serve the kind. If ctx is done, the error is that of ctx.
	List(ctx context.Context, list kube.ResourceList) (live map[*resource.Info]*unstructured.Unstructured, unread map[*resource.Info]error, err error)
	// Exists reports whether the object that id identifies exists. apiVersion is needed to
	// find its API resource. exists is false if the cluster does not serve the kind, if the
	// account is not allowed to read the object, which denied reports, and if there is no
	// cluster.
	Exists(ctx context.Context, apiVersion string, id sequencer.ID) (exists, denied bool, err error)
	// Denied reports for each action whether the account certainly lacks the permission for
	// it. Without a cluster, nothing is denied.
	Denied(ctx context.Context, actions []authorizationv1.ResourceAttributes) ([]bool, error)
	// Releases returns the names of Releases (package releaseapi) in all namespaces, at most
	// limit. There are none if the cluster does not define them, and without a cluster.
	Releases(ctx context.Context, limit int64) ([]types.NamespacedName, error)
}

// reader is the Reader of a cluster.
type reader struct {
	clients   *clientFactory
	discovery Discovery
}

// Live implements Reader. If there are many objects of one kind, it reads them with a list
// request, provided that the account is allowed to list them.
func (r *reader) Live(ctx context.Context, list kube.ResourceList) (map[*resource.Info]*unstructured.Unstructured, error) {
	client, err := r.clients.Dynamic()
	if err != nil {
		return nil, err
	}
	lister := &liveLister{liveReader: newLiveReader(list, getWith(client)), forEach: r.clients.forEach}
	if lister.metadata, err = r.clients.Metadata(); err != nil {
		return nil, err
	}
	lister.readAll(ctx, lister.listAll(ctx))
	return lister.result(ctx)
}

// Existing implements Reader.
func (r *reader) Existing(ctx context.Context, list kube.ResourceList) (map[*resource.Info]*unstructured.Unstructured, error) {
	return r.Live(ctx, list)
}

// LiveCRDs implements Reader.
func (r *reader) LiveCRDs(ctx context.Context, list kube.ResourceList) (map[*resource.Info]*unstructured.Unstructured, error) {
	byName := make(map[string]*resource.Info, len(list))
	for _, info := range list {
		byName[info.Name] = info
	}
	var options metav1.ListOptions
	if len(list) == 1 {
		options.FieldSelector = fields.OneTermEqualSelector("metadata.name", list[0].Name).String()
	}
	live := make(map[*resource.Info]*unstructured.Unstructured, len(list))
	at := collection{resource: crdResource, kind: crdResource.GroupVersion().WithKind(object.CRDKind)}
	_, err := r.clients.forEach(ctx, at, options, func(crd *unstructured.Unstructured) {
		if info := byName[crd.GetName()]; info != nil {
			live[info] = crd
		}
	})
	switch {
	case apierrors.IsForbidden(err):
		return r.Live(ctx, list)
	case err != nil:
		return nil, fmt.Errorf("list CustomResourceDefinitions: %w", err)
	}
	return live, nil
}

// Get reads the current state of one object from the cluster. If it cannot be read, the
// error is a ReadError.
func (r *reader) Get(ctx context.Context, info *resource.Info) (*unstructured.Unstructured, error) {
	client, err := r.clients.Dynamic()
	if err != nil {
		return nil, err
	}
	live, err := getWith(client)(ctx, info)
	if err != nil {
		return nil, newReadError(info, err)
	}
	return live, nil
}

// Exists implements Reader.
func (r *reader) Exists(ctx context.Context, apiVersion string, id sequencer.ID) (exists, denied bool, err error) {
	mapping, err := r.discovery.Mapping(apiVersion, id.Kind)
	if err != nil || mapping == nil {
		return false, false, err
	}
	client, err := r.clients.Dynamic()
	if err != nil {
		return false, false, err
	}
	_, err = getWith(client)(ctx, &resource.Info{Mapping: mapping, Namespace: id.Namespace, Name: id.Name})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return false, apierrors.IsForbidden(err), nil
	}
	if err != nil {
		return false, false, fmt.Errorf("look for %s in the cluster: %w", id, err)
	}
	return true, false, nil
}

// Denied implements Reader. An action counts as allowed if the check itself fails.
func (r *reader) Denied(ctx context.Context, actions []authorizationv1.ResourceAttributes) ([]bool, error) {
	client, err := r.clients.Clientset()
	if err != nil {
		return nil, err
	}
	denied := make([]bool, len(actions))
	var requests sync.WaitGroup
	for i := range actions {
		requests.Go(func() {
			review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &actions[i]}}
			response, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
			denied[i] = err == nil && !response.Status.Allowed
		})
	}
	requests.Wait()
	return denied, nil
}

// Releases implements Reader.
func (r *reader) Releases(ctx context.Context, limit int64) ([]types.NamespacedName, error) {
	client, err := r.clients.Metadata()
	if err != nil {
		return nil, err
	}
	list, err := client.Resource(releaseapi.ReleaseGVR()).List(ctx, metav1.ListOptions{Limit: limit})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list %s.%s in all namespaces: %w", releaseapi.ReleaseResource, releaseapi.Group, err)
	}
	var names []types.NamespacedName
	for i := range list.Items {
		names = append(names, types.NamespacedName{Namespace: list.Items[i].Namespace, Name: list.Items[i].Name})
	}
	return names, nil
}

// readerWithoutCluster is the Reader for a client without a cluster.
type readerWithoutCluster struct{}

// Live implements Reader.
func (readerWithoutCluster) Live(ctx context.Context, list kube.ResourceList) (map[*resource.Info]*unstructured.Unstructured, error) {
	r := newLiveReader(list, getWithOwnClient)
	indexes := make([]int, len(list))
	for i := range indexes {
		indexes[i] = i
	}
	r.readAll(ctx, indexes)
	return r.result(ctx)
}

// LiveCRDs implements Reader.
func (readerWithoutCluster) LiveCRDs(context.Context, kube.ResourceList) (map[*resource.Info]*unstructured.Unstructured, error) {
	return nil, nil
}

// List implements Reader.
func (r readerWithoutCluster) List(ctx context.Context, list kube.ResourceList) (live map[*resource.Info]*unstructured.Unstructured, unread map[*resource.Info]error, err error) {
	live, err = r.Live(ctx, list)
	return live, nil, err
}

// Existing implements Reader.
func (readerWithoutCluster) Existing(_ context.Context, list kube.ResourceList) (map[*resource.Info]*unstructured.Unstructured, error) {
	existing := make(map[*resource.Info]*unstructured.Unstructured, len(list))
	for _, info := range list {
		existing[info] = nil
	}
	return existing, nil
}

// Exists implements Reader.
func (readerWithoutCluster) Exists(context.Context, string, sequencer.ID) (exists, denied bool, err error) {
	return false, false, nil
}

// Denied implements Reader.
func (readerWithoutCluster) Denied(_ context.Context, actions []authorizationv1.ResourceAttributes) ([]bool, error) {
	return make([]bool, len(actions)), nil
}

// Releases implements Reader.
func (readerWithoutCluster) Releases(context.Context, int64) ([]types.NamespacedName, error) {
	return nil, nil
}

// getFunc reads the current state of one object.
type getFunc func(context.Context, *resource.Info) (*unstructured.Unstructured, error)

// getWith returns a getFunc that sends its requests with client.
func getWith(client dynamic.Interface) getFunc {
	return func(ctx context.Context, info *resource.Info) (*unstructured.Unstructured, error) {
		at := collectionOf(info)
		return client.Resource(at.resource).Namespace(at.namespace).Get(ctx, info.Name, metav1.GetOptions{})
	}
}

// getWithOwnClient is a getFunc that sends its request with the Client of the Info.
func getWithOwnClient(_ context.Context, info *resource.Info) (*unstructured.Unstructured, error) {
	live, err := resource.NewHelper(info.Client, info.Mapping).Get(info.Namespace, info.Name)
	if err != nil {
		return nil, err
	}
	return object.AsUnstructured(live)
}
