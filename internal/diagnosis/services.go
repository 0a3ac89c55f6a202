// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/diagnosis/clusterreader"
)

func (w *walk) diagnoseService(ctx context.Context, at ref, obj *unstructured.Unstructured) {
	service, err := clusterreader.Convert[corev1.Service](obj)
	if err == nil && service.Spec.Type == corev1.ServiceTypeLoadBalancer && len(service.Status.LoadBalancer.Ingress) == 0 {
		message := "waiting for a load balancer address"
		if class := service.Spec.LoadBalancerClass; class != nil {
			message += " (loadBalancerClass " + *class + ")"
		}
		w.add(at, finding{rank: rankSymptom, Cause: Cause{Reason: "NoAddress", Message: message}})
	}
	w.diagnoseByConditions(ctx, at, obj)
}

func (w *walk) diagnoseIngress(ctx context.Context, at ref, obj *unstructured.Unstructured) {
	ingress, err := clusterreader.Convert[networkingv1.Ingress](obj)
	if err == nil && ingress.Spec.IngressClassName != nil {
		class := clusterObject("IngressClass", ingressClassResource, *ingress.Spec.IngressClassName)
		w.addMissingObjects(ctx, at, []reference{{objectKey: class, field: "spec.ingressClassName"}})
	}
	if err == nil && len(ingress.Status.LoadBalancer.Ingress) == 0 {
		w.add(at, finding{rank: rankSymptom, Cause: Cause{Reason: "NoAddress", Message: "waiting for an address from an ingress controller"}})
	}
	w.diagnoseByConditions(ctx, at, obj)
}

// diagnoseAPIService adds findings about an APIService, and about its Service and the pods
// of the Service if the Service has no ready endpoint.
func (w *walk) diagnoseAPIService(ctx context.Context, at ref, obj *unstructured.Unstructured) {
	w.diagnoseByConditions(ctx, at, obj)
	namespace, _, _ := unstructured.NestedString(obj.Object, "spec", "service", "namespace")
	name, _, _ := unstructured.NestedString(obj.Object, "spec", "service", "name")
	if name == "" {
		return
	}
	found, err := w.get(ctx, servicesResource, namespace, name)
	if apierrors.IsNotFound(err) {
		w.addMissingObject(at, reference{objectKey: namespacedObject("Service", namespace, name), field: "spec.service"})
	}
	if err != nil {
		return
	}
	service, err := clusterreader.Convert[corev1.Service](found)
	if err != nil || service.Spec.Type == corev1.ServiceTypeExternalName || w.hasEndpoints(ctx, service) {
		return
	}
	serves := ref{kind: "Service", namespace: namespace, name: name, uid: service.UID}
	before := len(w.findings)
	pods, err := w.pods(ctx, namespace, &metav1.LabelSelector{MatchLabels: service.Spec.Selector}, ref{})
	for n := range pods {
		w.diagnosePod(ctx, &pods[n], workload{})
	}
	message := "no ready endpoints"
	if err == nil && len(pods) == 0 {
		message = "no endpoints: no pod matches its selector"
	}
	f := finding{rank: rankWarning, Cause: Cause{Reason: "NoEndpoints", Message: message}}
	if len(w.findings) == before {
		f.rank = rankCause
	}
	w.add(serves, f)
	w.visit(serves, nil)
}

// hasEndpoints reports whether a Service has a ready endpoint. If it cannot read the
// endpoints, it returns true, so that no problem is reported.
func (w *walk) hasEndpoints(ctx context.Context, service *corev1.Service) bool {
	found, err := list[discoveryv1.EndpointSlice](ctx, w, endpointsResource, service.Namespace, metav1.ListOptions{
		LabelSelector: fmt.Sprintf("%s=%s", discoveryv1.LabelServiceName, service.Name),
	})
	if err != nil {
		return true
	}
	for _, slice := range found {
		for _, endpoint := range slice.Endpoints {
			if endpoint.Conditions.Ready == nil || *endpoint.Conditions.Ready {
				return true
			}
		}
	}
	return false
}
