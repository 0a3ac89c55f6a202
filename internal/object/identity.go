// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package object contains functions about single Kubernetes objects of a release that
// several packages need: about the identity of an object, the release that owns it, its
// resource policy, its pods, its state in the cluster, and its name in messages.
package object

import (
	"fmt"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/ordered-helm/helm/internal/kind"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/text"
)

// Info is an object with the REST mapping of its kind.
type Info = resource.Info

// CRDKind is the kind of CustomResourceDefinitions (CRDs).
const CRDKind = "CustomResourceDefinition"

// IDOf returns the identity (group, kind, namespace and name) that an object has in the
// cluster.
func IDOf(info *Info) sequencer.ID {
	gvk := info.Object.GetObjectKind().GroupVersionKind()
	if info.Mapping != nil { // a custom Kubernetes client may not set the mapping
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

// Reference returns the content of an object that has only an API version, a kind, a
// namespace and a name.
func Reference(apiVersion, kind, namespace, name string) map[string]any {
	return map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name, "namespace": namespace}}
}

// Describe returns the text with which messages refer to an object. The format is Helm's.
func Describe(info *Info) string {
	return fmt.Sprintf("%s %q in namespace %q", info.Mapping.GroupVersionKind.Kind, info.Name, info.Namespace)
}

// maxSummarized limits how many objects SummarizeResources and Summarize name.
const maxSummarized = 6

// SummarizeResources returns the names of resources of the deployment graph, as in
// "Secret/db, Deployment/db". It names at most maxSummarized of them, workloads first.
func SummarizeResources(resources []*sequencer.PlannedResource) string {
	if len(resources) > maxSummarized {
		resources = kind.WorkloadsFirst(resources, func(res *sequencer.PlannedResource) string { return res.ID.Kind })
	}
	names := make([]string, len(resources))
	for i, res := range resources {
		names[i] = res.ID.String()
	}
	return text.List(names, maxSummarized)
}

// Summarize returns the names of objects, as in "Secret/db, Deployment/db". It names at most
// maxSummarized of them, workloads first.
func Summarize(list kube.ResourceList) string {
	kindOf := func(info *Info) string { return info.Object.GetObjectKind().GroupVersionKind().Kind }
	if len(list) > maxSummarized {
		list = kind.WorkloadsFirst(list, kindOf)
	}
	names := make([]string, len(list))
	for i, info := range list {
		names[i] = kindOf(info) + "/" + info.Name
	}
	return text.List(names, maxSummarized)
}

// IsKind reports whether an object has the given kind of the core API group.
func IsKind(info *Info, kind string) bool {
	return info.Mapping.GroupVersionKind.GroupKind() == schema.GroupKind{Kind: kind}
}
