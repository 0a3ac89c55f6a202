// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// maxList limits the objects of a list.
const maxList = 500

var (
	podsResource          = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	eventsResource        = schema.GroupVersionResource{Version: "v1", Resource: "events"}
	servicesResource      = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	claimsResource        = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
	volumesResource       = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumes"}
	replicaSetsResource   = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}
	classesResource       = schema.GroupVersionResource{Group: "storage.k8s.io", Version: "v1", Resource: "storageclasses"}
	ingressClassResource  = schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "ingressclasses"}
	endpointsResource     = schema.GroupVersionResource{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}
	priorityClassResource = schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: "v1", Resource: "priorityclasses"}
	runtimeClassResource  = schema.GroupVersionResource{Group: "node.k8s.io", Version: "v1", Resource: "runtimeclasses"}
)

// errNoClient is returned if Config has no client for a request.
var errNoClient = errors.New("no client")

// list reads the objects of a namespace, or of all namespaces if it is empty.
func list[T any](ctx context.Context, w *walk, resource schema.GroupVersionResource, namespace string,
	options metav1.ListOptions) ([]T, error) {
	if w.Dynamic == nil {
		return nil, errNoClient
	}
	options.Limit = maxList
	question := fmt.Sprintf("list %s %q %q %q", resource, namespace, options.LabelSelector, options.FieldSelector)
	found, err := cachedRequest(ctx, w.session, question, func(ctx context.Context) ([]T, error) {
		answer, err := resourceClient(w.Dynamic, resource, namespace).List(ctx, options)
		if err != nil {
			return nil, err
		}
		objects := make([]T, 0, len(answer.Items))
		for n := range answer.Items {
			if object, err := convert[T](&answer.Items[n]); err == nil {
				objects = append(objects, *object)
			}
		}
		return objects, nil
	})
	w.recordForbidden(err, "list", resource, namespace)
	return found, err
}

// get reads one object.
func get(ctx context.Context, w *walk, resource schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
	if w.Dynamic == nil {
		return nil, errNoClient
	}
	question := fmt.Sprintf("get %s %q %q", resource, namespace, name)
	found, err := cachedRequest(ctx, w.session, question, func(ctx context.Context) (*unstructured.Unstructured, error) {
		return resourceClient(w.Dynamic, resource, namespace).Get(ctx, name, metav1.GetOptions{})
	})
	w.recordForbidden(err, "get", resource, namespace)
	return found, err
}

// exists reports whether an object exists. It reads only metadata.
func exists(ctx context.Context, w *walk, resource schema.GroupVersionResource, namespace, name string) (bool, error) {
	if w.Metadata == nil {
		return false, errNoClient
	}
	question := fmt.Sprintf("exists %s %q %q", resource, namespace, name)
	found, err := cachedRequest(ctx, w.session, question, func(ctx context.Context) (bool, error) {
		var err error
		if client := w.Metadata.Resource(resource); namespace == "" {
			_, err = client.Get(ctx, name, metav1.GetOptions{})
		} else {
			_, err = client.Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		}
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
	w.recordForbidden(err, "get", resource, namespace)
	return found, err
}

func resourceClient(client dynamic.Interface, resource schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return client.Resource(resource)
	}
	return client.Resource(resource).Namespace(namespace)
}

// recordForbidden records the first missing permission.
func (w *walk) recordForbidden(err error, verb string, resource schema.GroupVersionResource, namespace string) {
	if !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) {
		return
	}
	denied := &w.forbidden
	if resource == eventsResource {
		denied = &w.forbiddenEvents
	}
	if *denied != "" {
		return
	}
	*denied = "no permission to " + verb + " " + resource.GroupResource().String()
	if namespace != "" {
		*denied += " in namespace " + namespace
	}
}

// convert converts an object to its Go type.
func convert[T any](obj *unstructured.Unstructured) (*T, error) {
	object := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, object); err != nil {
		return nil, fmt.Errorf("cannot decode %s %s: %w", obj.GetKind(), obj.GetName(), err)
	}
	return object, nil
}

// pods returns the pods that match a selector and belong to an owner, the oldest first.
// An empty owner matches all pods.
func (w *walk) pods(ctx context.Context, namespace string, selector *metav1.LabelSelector, owner ref) ([]corev1.Pod, error) {
	labels, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil || labels.Empty() {
		return nil, err
	}
	all, err := list[corev1.Pod](ctx, w, podsResource, namespace, metav1.ListOptions{LabelSelector: labels.String()})
	if err != nil {
		return nil, err
	}
	pods := slices.DeleteFunc(slices.Clone(all), func(p corev1.Pod) bool { return !owner.owns(&p) })
	slices.SortFunc(pods, func(a, b corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return pods, nil
}
