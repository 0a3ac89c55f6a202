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

// Ref identifies an object. Namespace is empty for cluster-scoped objects. UID can be empty
// if it is unknown.
type Ref struct {
	Kind, Namespace, Name string
	UID                   types.UID
}

// String returns the kind and name, as in "Pod shop/web".
func (r Ref) String() string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

// Owns reports whether object has an owner reference to r. If the UID of r is unknown, it
// returns true.
func (r Ref) Owns(object metav1.Object) bool {
	return r.UID == "" || slices.ContainsFunc(object.GetOwnerReferences(),
		func(owner metav1.OwnerReference) bool { return owner.UID == r.UID })
}

// Reader reads objects for the diagnosis of one subject. It sends its requests with a
// Session, and records missing permissions. It must not be used concurrently.
type Reader struct {
	session *Session
	now     func() time.Time
	// forbidden describes the first missing permission, except for events; forbiddenEvents
	// describes the missing permission to read events. They are empty if no permission was
	// missing.
	forbidden, forbiddenEvents string
}

// NewReader returns a Reader that uses the session. now returns the current time.
func NewReader(session *Session, now func() time.Time) *Reader {
	return &Reader{session: session, now: now}
}

// Forbidden describes the first permission that was missing in a request, except for
// requests for events. It is empty if none was missing.
func (r *Reader) Forbidden() string { return r.forbidden }

// ForbiddenEvents describes the missing permission to read events, or is empty.
func (r *Reader) ForbiddenEvents() string { return r.forbiddenEvents }

// List lists the objects of a resource in a namespace, or in all namespaces if namespace is
// empty. It omits objects that cannot be converted to T.
func List[T any](ctx context.Context, r *Reader, resource schema.GroupVersionResource, namespace string,
	options metav1.ListOptions) ([]T, error) {
	client := r.session.clients.Dynamic
	if client == nil {
		return nil, errNoClient
	}
	options.Limit = maxList
	question := fmt.Sprintf("list %s %q %q %q", resource, namespace, options.LabelSelector, options.FieldSelector)
	found, err := cached(ctx, r.session, question, func(ctx context.Context) ([]T, error) {
		answer, err := client.Resource(resource).Namespace(namespace).List(ctx, options)
		if err != nil {
			return nil, err
		}
		objects := make([]T, 0, len(answer.Items))
		for n := range answer.Items {
			if object, err := Convert[T](&answer.Items[n]); err == nil {
				objects = append(objects, *object)
			}
		}
		return objects, nil
	})
	r.recordForbidden(err, "list", resource, namespace)
	return found, err
}

// ListOwned lists the objects in the namespace of owner that match a selector and have an
// owner reference to owner. If owner has no UID, it returns all objects that match.
func ListOwned[T any, P interface {
	*T
	metav1.Object
}](ctx context.Context, r *Reader, resource schema.GroupVersionResource, owner Ref, selector *metav1.LabelSelector) ([]T, error) {
	labels, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil || labels.Empty() {
		return nil, err
	}
	all, err := List[T](ctx, r, resource, owner.Namespace, metav1.ListOptions{LabelSelector: labels.String()})
	return slices.DeleteFunc(slices.Clone(all), func(object T) bool { return !owner.Owns(P(&object)) }), err
}

// Pods returns the pods in the namespace of owner that match a selector and have an owner
// reference to owner, the oldest first. If owner has no UID, it returns all pods that match.
func (r *Reader) Pods(ctx context.Context, owner Ref, selector *metav1.LabelSelector) ([]corev1.Pod, error) {
	pods, err := ListOwned[corev1.Pod](ctx, r, podsResource, owner, selector)
	slices.SortFunc(pods, func(a, b corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return pods, err
}

// Get reads one object. namespace is empty for cluster-scoped objects.
func (r *Reader) Get(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
	client := r.session.clients.Dynamic
	if client == nil {
		return nil, errNoClient
	}
	question := fmt.Sprintf("get %s %q %q", resource, namespace, name)
	found, err := cached(ctx, r.session, question, func(ctx context.Context) (*unstructured.Unstructured, error) {
		return client.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	})
	r.recordForbidden(err, "get", resource, namespace)
	return found, err
}

// Exists reports whether an object exists. It reads only metadata, so that the contents of
// Secrets are never read.
func (r *Reader) Exists(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (bool, error) {
	client := r.session.clients.Metadata
	if client == nil {
		return false, errNoClient
	}
	question := fmt.Sprintf("exists %s %q %q", resource, namespace, name)
	found, err := cached(ctx, r.session, question, func(ctx context.Context) (bool, error) {
		_, err := client.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
	r.recordForbidden(err, "get", resource, namespace)
	return found, err
}

// recordForbidden stores in r.forbidden or r.forbiddenEvents that err reports a missing
// permission, if it is the first.
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
