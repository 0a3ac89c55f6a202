// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"helm.sh/helm/v3/pkg/kube"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// PodRef identifies one pod. The UID distinguishes it from later pods with the same name.
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

// PodSelector returns the label selector with which an object, such as a Deployment, selects
// its pods. The result is empty if the object selects no pods. The caller must not send an
// empty selector, because it would select all pods of the namespace.
func PodSelector(info *Info) string {
	selector, err := kube.SelectorsForObject(kube.AsVersioned(info))
	if err != nil {
		return ""
	}
	return selector.String()
}

// IsJob reports whether an object is a Job.
func IsJob(info *Info) bool {
	return info.Mapping.GroupVersionKind.GroupKind() == schema.GroupKind{Group: batchv1.GroupName, Kind: "Job"}
}

// RunsToCompletion reports whether an object is a Job or a Pod. In hooks, Helm waits for the
// completion of these objects.
func RunsToCompletion(info *Info) bool {
	switch info.Mapping.GroupVersionKind.GroupKind().String() {
	case "Job.batch", "Pod":
		return true
	}
	return false
}
