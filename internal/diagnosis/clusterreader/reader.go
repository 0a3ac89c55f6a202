// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package clusterreader

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// maxList is the maximum number of objects that List reads.
const maxList = 500

var (
	podsResource   = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	eventsResource = schema.GroupVersionResource{Version: "v1", Resource: "events"}
)

// ObjectRef identifies an object. Namespace is empty for cluster-scoped objects. UID is empty
// if it is unknown.
type ObjectRef struct {
	Kind, Namespace, Name string
	UID                   types.UID
}

// String returns the kind, namespace and name, as in "Pod shop/web".
func (r ObjectRef) String() string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

// Owns reports whether object has an owner reference to the object that r identifies. It
// returns true if the UID of r is unknown.
func (r ObjectRef) Owns(object metav1.Object) bool {
	return r.UID == "" || slices.ContainsFunc(object.GetOwnerReferences(),
		func(owner metav1.OwnerReference) bool { return owner.UID == r.UID })
}

// Reader reads objects for the diagnosis of one object. It sends its requests with a
// RequestCache, and records missing permissions. It must not be used concurrently.
type Reader struct {
	cache *RequestCache
	now   func() time.Time
	// forbidden and forbiddenEvents are the results of Forbidden and ForbiddenEvents.
	forbidden, forbiddenEvents string
}

// NewReader returns a Reader that sends its requests with cache. now returns the current
// time.
func NewReader(cache *RequestCache, now func() time.Time) *Reader {
	return &Reader{cache: cache, now: now}
}

// Forbidden describes the first missing permission because of which a request failed, not
// counting requests for events. It returns "" if there was none.
func (r *Reader) Forbidden() string { return r.forbidden }

// ForbiddenEvents describes the permission to read events if it was missing. Otherwise it
// returns "".
func (r *Reader) ForbiddenEvents() string { return r.forbiddenEvents }

// List lists the objects of an API resource in a namespace, or in all namespaces if namespace
// is empty. It omits objects that cannot be converted to T.
func List[T any](ctx context.Context, r *Reader, resource schema.GroupVersionResource, namespace string,
	options metav1.ListOptions) ([]T, error) {
	client := r.cache.clients.Dynamic
	if client == nil {
		return nil, errNoClient
	}
	options.Limit = maxList
	key := fmt.Sprintf("list %s %q %q %q", resource, namespace, options.LabelSelector, options.FieldSelector)
	found, err := cached(ctx, r.cache, key, func(ctx context.Context) ([]T, error) {
		response, err := client.Resource(resource).Namespace(namespace).List(ctx, options)
		if err != nil {
			return nil, err
		}
		objects := make([]T, 0, len(response.Items))
		for n := range response.Items {
			if object, err := Convert[T](&response.Items[n]); err == nil {
				objects = append(objects, *object)
			}
		}
		return objects, nil
	})
	r.recordForbidden(err, "list", resource, namespace)
	return found, err
}

// ListOwned lists the objects in the namespace of owner that match the selector and have
// an owner reference to owner. If the UID of owner is unknown, it lists all matching
// objects. If the selector is empty, it lists nothing.
func ListOwned[T any, P interface {
	*T
	metav1.Object
}](ctx context.Context, r *Reader, resource schema.GroupVersionResource, owner ObjectRef, selector *metav1.LabelSelector) ([]T, error) {
	labels, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil || labels.Empty() {
		return nil, err
	}
	all, err := List[T](ctx, r, resource, owner.Namespace, metav1.ListOptions{LabelSelector: labels.String()})
	return slices.DeleteFunc(slices.Clone(all), func(object T) bool { return !owner.Owns(P(&object)) }), err
}

// Pods returns the same pods as ListOwned, the oldest first.
func (r *Reader) Pods(ctx context.Context, owner ObjectRef, selector *metav1.LabelSelector) ([]corev1.Pod, error) {
	pods, err := ListOwned[corev1.Pod](ctx, r, podsResource, owner, selector)
	slices.SortFunc(pods, func(a, b corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return pods, err
}

// Get reads one object. namespace is empty for cluster-scoped objects.
func (r *Reader) Get(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
	client := r.cache.clients.Dynamic
	if client == nil {
		return nil, errNoClient
	}
	key := fmt.Sprintf("get %s %q %q", resource, namespace, name)
	found, err := cached(ctx, r.cache, key, func(ctx context.Context) (*unstructured.Unstructured, error) {
		return client.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	})
	r.recordForbidden(err, "get", resource, namespace)
	return found, err
}

// Exists reports whether an object exists. It reads only the metadata, so that the contents
// of Secrets are never read.
func (r *Reader) Exists(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (bool, error) {
	client := r.cache.clients.Metadata
	if client == nil {
		return false, errNoClient
	}
	key := fmt.Sprintf("exists %s %q %q", resource, namespace, name)
	found, err := cached(ctx, r.cache, key, func(ctx context.Context) (bool, error) {
		_, err := client.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
	r.recordForbidden(err, "get", resource, namespace)
	return found, err
}

// recordForbidden records a missing permission in r.forbidden or r.forbiddenEvents, if err
// reports one and no other was recorded before.
func (r *Reader) recordForbidden(err error, verb string, resource schema.GroupVersionResource, namespace string) {
	if !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) {
		return
	}
	denied := &r.forbidden
	if resource == eventsResource {
		denied = &r.forbiddenEvents
	}
	if *denied != "" {
		return
	}
	*denied = "no permission to " + verb + " " + resource.GroupResource().String()
	if namespace != "" {
		*denied += " in namespace " + namespace
	}
}

// Convert converts an object to its Go type T, such as corev1.Pod.
func Convert[T any](obj *unstructured.Unstructured) (*T, error) {
	object := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, object); err != nil {
		return nil, fmt.Errorf("cannot decode %s %s: %w", obj.GetKind(), obj.GetName(), err)
	}
	return object, nil
}
