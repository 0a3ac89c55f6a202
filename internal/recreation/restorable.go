// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package recreation

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/field"
	"github.com/ordered-helm/helm/internal/object"
)

var statefulSet = schema.GroupKind{Group: "apps", Kind: "StatefulSet"}

// generatedJobLabels are the labels with which the server selects the pods of a Job. Their values are different for
// each Job.
var generatedJobLabels = []string{"batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name", "controller-uid", "job-name"}

// restorable returns what can be set in a new object that is to be like live, an object that was read from the cluster.
func restorable(live *unstructured.Unstructured) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: object.WithoutServerFields(live.DeepCopy().Object)}
	unstructured.RemoveNestedField(u.Object, "metadata", "deletionTimestamp")
	unstructured.RemoveNestedField(u.Object, "metadata", "deletionGracePeriodSeconds")
	finalizers := slices.DeleteFunc(u.GetFinalizers(), func(f string) bool {
		return f == metav1.FinalizerOrphanDependents || f == metav1.FinalizerDeleteDependents
	})
	if u.SetFinalizers(finalizers); len(finalizers) == 0 {
		unstructured.RemoveNestedField(u.Object, "metadata", "finalizers")
	}
	switch u.GroupVersionKind().GroupKind().String() {
	case "Job.batch":
		if !field.Bool(u.Object, "spec", "manualSelector") {
			withoutGeneratedSelector(u)
		}
	case "Pod":
		unstructured.RemoveNestedField(u.Object, "spec", "nodeName") // it is scheduled again
	}
	return u
}

// withoutGeneratedSelector removes what the server generates to select the pods of a Job.
func withoutGeneratedSelector(job *unstructured.Unstructured) {
	unstructured.RemoveNestedField(job.Object, "spec", "selector")
	for _, path := range [][]string{{"metadata", "labels"}, {"spec", "template", "metadata", "labels"}} {
		for _, label := range generatedJobLabels {
			delete(field.Map(job.Object, path...), label)
		}
	}
}

// withoutOwnAddresses returns a copy of a Service without the addresses and ports that the live Service has as well, so
// that they are free as soon as it is deleted. It returns other objects as they are.
func withoutOwnAddresses(target, live *unstructured.Unstructured) *unstructured.Unstructured {
	if target.GroupVersionKind().GroupKind() != (schema.GroupKind{Kind: "Service"}) {
		return target
	}
	target = target.DeepCopy()
	if slices.ContainsFunc(clusterIPs(target), func(ip string) bool { return slices.Contains(clusterIPs(live), ip) }) {
		removeClusterIPs(target.Object)
	}
	unstructured.RemoveNestedField(target.Object, "spec", "healthCheckNodePort")
	for _, port := range field.Maps(target.Object, "spec", "ports") {
		delete(port, "nodePort")
	}
	return target
}

func clusterIPs(service *unstructured.Unstructured) []string {
	ips, _, _ := unstructured.NestedStringSlice(service.Object, "spec", "clusterIPs")
	if ip := field.String(service.Object, "spec", "clusterIP"); ip != "" && ip != "None" {
		ips = append(ips, ip)
	}
	return ips
}

func removeClusterIPs(service map[string]any) {
	unstructured.RemoveNestedField(service, "spec", "clusterIP")
	unstructured.RemoveNestedField(service, "spec", "clusterIPs")
}

// withoutRejected removes from target the fields because of which the server has rejected it, and returns their names.
// There are none if the server has rejected it for another reason.
func withoutRejected(target *unstructured.Unstructured, rejected error) []string {
	status, isStatus := errors.AsType[*apierrors.StatusError](rejected)
	if !isStatus || !apierrors.IsInvalid(status) || status.ErrStatus.Details == nil {
		return nil
	}
	var removed []string
	for _, cause := range status.ErrStatus.Details.Causes {
		if strings.HasPrefix(cause.Field, "spec.clusterIP") {
			removeClusterIPs(target.Object)
			removed = append(removed, "spec.clusterIP")
		} else if removeField(target.Object, cause.Field) {
			removed = append(removed, cause.Field)
		}
	}
	return slices.Compact(removed)
}

// removeField removes the field with a path such as spec.ports[0].nodePort, and reports whether there was one.
func removeField(content map[string]any, path string) bool {
	var current any = content
	parts := strings.Split(strings.NewReplacer("[", ".", "]", "").Replace(path), ".")
	for i, part := range parts {
		last := i == len(parts)-1
		switch c := current.(type) {
		case map[string]any:
			value, exists := c[part]
			if !exists || last {
				delete(c, part)
				return exists
			}
			current = value
		case []any:
			index, err := strconv.Atoi(part)
			if err != nil || index < 0 || index >= len(c) || last {
				return false
			}
			current = c[index]
		default:
			return false
		}
	}
	return false
}
