// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package object has what several packages need to know about single Kubernetes objects of
// a release: their identity, the release that owns them, their resource policy, their pods,
// and their names in messages.
package object

import (
	"fmt"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/text"
)

// Info is an object with the REST mapping of its kind.
type Info = resource.Info

// CRDKind is the kind of CRDs.
const CRDKind = "CustomResourceDefinition"

// IDOf returns the identity (group, kind, namespace and name) of an object in the cluster.
func IDOf(info *Info) sequencer.ID {
	gvk := info.Object.GetObjectKind().GroupVersionKind()
	if info.Mapping != nil { // custom Kubernetes clients may not set it
		gvk = info.Mapping.GroupVersionKind
	}
	return sequencer.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: Namespace(info), Name: info.Name}
}

// LiveID returns the identity of an object that was read from the cluster.
func LiveID(live *unstructured.Unstructured) sequencer.ID {
	return sequencer.ID{
		Group: live.GroupVersionKind().Group, Kind: live.GetKind(), Namespace: live.GetNamespace(), Name: live.GetName(),
	}
}

// Namespace returns the namespace of an object. It is empty for a cluster-scoped object,
// even if its manifest names a namespace.
func Namespace(info *Info) string {
	if info.Mapping != nil && !info.Namespaced() {
		return ""
	}
	return info.Namespace
}

// ByID maps the identity of each object in list to the object.
func ByID(list kube.ResourceList) map[sequencer.ID]*Info {
	byID := make(map[sequencer.ID]*Info, len(list))
	for _, info := range list {
		byID[IDOf(info)] = info
	}
	return byID
}

// Reference returns the content of an object that has only a kind, a namespace and a name.
func Reference(apiVersion, kind, namespace, name string) map[string]any {
	return map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name, "namespace": namespace}}
}

// Describe names an object in messages, in the same format as Helm.
func Describe(info *Info) string {
	return fmt.Sprintf("%s %q in namespace %q", info.Mapping.GroupVersionKind.Kind, info.Name, info.Namespace)
}

// maxSummarized is the maximum number of objects that SummarizeResources and Summarize
// name.
const maxSummarized = 6

// SummarizeResources names the resources of a plan, as in "Secret/db, Deployment/db".
func SummarizeResources(resources []*sequencer.PlannedResource) string {
	names := make([]string, len(resources))
	for i, res := range resources {
		names[i] = res.ID.String()
	}
	return text.List(names, maxSummarized)
}

// Summarize names objects, as in "Secret/db, Deployment/db".
func Summarize(list kube.ResourceList) string {
	names := make([]string, len(list))
	for i, info := range list {
		names[i] = info.Object.GetObjectKind().GroupVersionKind().Kind + "/" + info.Name
	}
	return text.List(names, maxSummarized)
}

// IsKind reports whether an object has the given kind of the core API group.
func IsKind(info *Info, kind string) bool {
	return info.Mapping.GroupVersionKind.GroupKind() == schema.GroupKind{Kind: kind}
}
