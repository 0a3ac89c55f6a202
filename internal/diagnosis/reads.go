// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/diagnosis/clusterreader"
)

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

// list lists the objects of a resource in a namespace, or in all namespaces if namespace is
// empty. Like get and exists, it sends the request with the session, and records if it is
// forbidden.
func list[T any](ctx context.Context, w *walk, resource schema.GroupVersionResource, namespace string, options metav1.ListOptions) ([]T, error) {
	found, err := clusterreader.List[T](ctx, w.session, resource, namespace, options)
	w.recordForbidden(err, "list", resource, namespace)
	return found, err
}

func (w *walk) get(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
	found, err := w.session.Get(ctx, resource, namespace, name)
	w.recordForbidden(err, "get", resource, namespace)
	return found, err
}

func (w *walk) exists(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (bool, error) {
	found, err := w.session.Exists(ctx, resource, namespace, name)
	w.recordForbidden(err, "get", resource, namespace)
	return found, err
}

// recordForbidden stores in w.forbidden or w.forbiddenEvents that err reports a missing
// permission, if it is the first.
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

// pods returns the pods that match a selector and have an owner reference to owner, the
// oldest first. If owner has no UID, all pods that match are returned.
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
