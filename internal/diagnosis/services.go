// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/diagnosis/clusterreader"
	"github.com/ordered-helm/helm/internal/diagnosis/podreferences"
	"github.com/ordered-helm/helm/internal/field"
)

var endpointSlicesResource = discoveryv1.SchemeGroupVersion.WithResource("endpointslices")

func diagnoseService(ctx context.Context, w *subjectDiagnosis, at clusterreader.ObjectRef, service *corev1.Service) {
	if service.Spec.Type == corev1.ServiceTypeLoadBalancer && len(service.Status.LoadBalancer.Ingress) == 0 {
		message := "waiting for a load balancer address"
		if class := service.Spec.LoadBalancerClass; class != nil {
			message += " (loadBalancerClass " + *class + ")"
		}
		w.findings.add(at, finding{rank: rankSymptom, Cause: Cause{Reason: "NoAddress", Message: message}})
	}
	diagnoseByConditions(ctx, w, at)
}

func diagnoseIngress(ctx context.Context, w *subjectDiagnosis, at clusterreader.ObjectRef, ingress *networkingv1.Ingress) {
	if ingress.Spec.IngressClassName != nil {
		kind := schema.GroupKind{Group: networkingv1.GroupName, Kind: "IngressClass"}
		class := podreferences.New(kind, "", *ingress.Spec.IngressClassName, "spec.ingressClassName")
		w.references.addMissing(ctx, at, []podreferences.Reference{class})
	}
	if len(ingress.Status.LoadBalancer.Ingress) == 0 {
		w.findings.add(at, finding{rank: rankSymptom, Cause: Cause{Reason: "NoAddress", Message: "waiting for an address from an ingress controller"}})
	}
	diagnoseByConditions(ctx, w, at)
}

// diagnoseAPIService adds findings about an APIService. If its Service has no ready endpoint,
// it also adds findings about the Service and the pods of the Service.
func diagnoseAPIService(ctx context.Context, w *subjectDiagnosis, at clusterreader.ObjectRef) {
	diagnoseByConditions(ctx, w, at)
	namespace := field.String(w.object.Object, "spec", "service", "namespace")
	name := field.String(w.object.Object, "spec", "service", "name")
	if name == "" {
		return
	}
	r := podreferences.New(schema.GroupKind{Kind: "Service"}, namespace, name, "spec.service")
	found, err := w.cluster.Get(ctx, r.Resource, namespace, name)
	if apierrors.IsNotFound(err) {
		w.references.addFinding(at, r)
	}
	if err != nil {
		return
	}
	service, err := clusterreader.Convert[corev1.Service](found)
	if err != nil || service.Spec.Type == corev1.ServiceTypeExternalName || hasEndpoints(ctx, w.cluster, service) {
		return
	}
	serves := clusterreader.ObjectRef{Kind: "Service", Namespace: namespace, Name: name, UID: service.UID}
	before := len(w.findings.list)
	pods, err := w.cluster.Pods(ctx, clusterreader.ObjectRef{Namespace: namespace}, &metav1.LabelSelector{MatchLabels: service.Spec.Selector})
	for n := range pods {
		diagnosePod(ctx, w, &pods[n], workload{})
	}
	message := "no ready endpoints"
	if err == nil && len(pods) == 0 {
		message = "no endpoints: no pod matches its selector"
	}
	f := finding{rank: rankWarning, Cause: Cause{Reason: "NoEndpoints", Message: message}}
	if len(w.findings.list) == before {
		f.rank = rankCause
	}
	w.findings.add(serves, f)
	w.findings.visit(serves, nil)
}

// hasEndpoints reports whether a Service has a ready endpoint. It also returns true if the
// endpoints cannot be read, so that no problem is reported.
func hasEndpoints(ctx context.Context, cluster *clusterreader.Reader, service *corev1.Service) bool {
	found, err := clusterreader.List[discoveryv1.EndpointSlice](ctx, cluster, endpointSlicesResource, service.Namespace, metav1.ListOptions{
		LabelSelector: fmt.Sprintf("%s=%s", discoveryv1.LabelServiceName, service.Name),
	})
	if err != nil {
		return true
	}
	return slices.ContainsFunc(found, func(slice discoveryv1.EndpointSlice) bool {
		return slices.ContainsFunc(slice.Endpoints, func(e discoveryv1.Endpoint) bool { return valueOr(e.Conditions.Ready, true) })
	})
}
