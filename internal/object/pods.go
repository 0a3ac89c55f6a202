// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// PodRef identifies a pod. A later pod with the same name has another UID.
type PodRef struct {
	Namespace, Name string
	UID             types.UID
}

// PodResource returns the API resource of pods.
func PodResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: "pods"}
}

// PodKind returns the kind of pods.
func PodKind() schema.GroupVersionKind { return schema.GroupVersionKind{Version: "v1", Kind: "Pod"} }

// PodSelector returns the label selector for the pods of an object, such as a Deployment.
// It is empty if the object selects no pods, or if its selector is empty. An empty selector
// must not be sent, because the server would select all pods of the namespace.
func PodSelector(info *Info) string {
	selector, err := kube.SelectorsForObject(kube.AsVersioned(info))
	if err != nil {
		return ""
	}
	return selector.String()
}

// RunsToCompletion reports whether an object is a Job or a Pod. These are the objects of
// hooks that Helm waits for.
func RunsToCompletion(info *Info) bool {
	switch info.Mapping.GroupVersionKind.GroupKind().String() {
	case "Job.batch", "Pod":
		return true
	}
	return false
}
