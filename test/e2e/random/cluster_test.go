// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package random

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordered-helm/helm/test/harness"
)

// liveObject is an object in the cluster.
type liveObject struct {
	uid    types.UID
	fields map[string]string
}

// randomResources contains the resources of the kinds in random charts.
var randomResources = map[string]schema.GroupVersionResource{
	"ConfigMap": {Version: "v1", Resource: "configmaps"}, "Secret": {Version: "v1", Resource: "secrets"},
	"Service": {Version: "v1", Resource: "services"}, "ServiceAccount": {Version: "v1", Resource: "serviceaccounts"},
	"Pod": {Version: "v1", Resource: "pods"}, "Job": {Group: "batch", Version: "v1", Resource: "jobs"},
	"Deployment": {Group: "apps", Version: "v1", Resource: "deployments"},
}

// settleTime is how long listObjects waits for objects that are being deleted.
const settleTime = time.Minute

// listObjects returns the objects in the namespace that have the label of the release, by
// "Kind/name". It waits until objects that are being deleted no longer exist.
func (l *releaseRun) listObjects() map[string]liveObject {
	l.Helper()
	deadline := time.Now().Add(settleTime)
	for {
		found, going := l.list()
		if len(going) == 0 {
			return found
		}
		if time.Now().After(deadline) {
			l.fatalf("still being deleted: %s", strings.Join(going, ", "))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (l *releaseRun) list() (found map[string]liveObject, going []string) {
	l.Helper()
	found = map[string]liveObject{}
	for kind, resource := range randomResources {
		list, err := l.Client.Resource(resource).Namespace(l.Namespace).List(l.Context(), metav1.ListOptions{})
		harness.NoError(l, err)
		for i := range list.Items {
			o := &list.Items[i]
			id := kind + "/" + o.GetName()
			switch {
			case o.GetAnnotations()["meta.helm.sh/release-name"] != randomName:
			case o.GetDeletionTimestamp() != nil:
				going = append(going, id)
			default:
				found[id] = liveObject{uid: o.GetUID(), fields: fieldsOf(o)}
			}
		}
	}
	return found, going
}

// fieldsOf returns the fields of an object that random charts and changeObject can set. The
// keys are texts such as "label a" or "data b".
func fieldsOf(o *unstructured.Unstructured) map[string]string {
	fields := map[string]string{}
	for key, value := range o.GetLabels() {
		if strings.HasPrefix(key, "t-") || strings.HasPrefix(key, "f-") {
			fields["label "+key] = value
		}
	}
	for key, value := range o.GetAnnotations() {
		if strings.HasPrefix(key, "t/") {
			fields["annotation "+key] = value
		}
	}
	put := func(key, value string) {
		if value != "" {
			fields[key] = value
		}
	}
	put("layer", o.GetAnnotations()["helm.sh/layer"])
	put("policy", o.GetAnnotations()["helm.sh/resource-policy"])
	put("timeout", o.GetAnnotations()["helm.sh/readiness-timeout"])
	put("play", o.GetAnnotations()["devcluster/pod"])
	put("play", textAtPath(o, "spec", "template", "metadata", "annotations", "devcluster/pod"))
	if automount, found, _ := unstructured.NestedBool(o.Object, "automountServiceAccountToken"); found {
		put("automount", fmt.Sprint(automount))
	}
	if publish, _, _ := unstructured.NestedBool(o.Object, "spec", "publishNotReadyAddresses"); publish {
		put("publish", "true")
	}
	if replicas, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas"); replicas > 1 {
		put("replicas", fmt.Sprint(replicas))
	}
	data, _, _ := unstructured.NestedStringMap(o.Object, "data")
	for key, value := range data {
		if o.GetKind() == "Secret" {
			plain, _ := base64.StdEncoding.DecodeString(value)
			value = string(plain)
		}
		fields["data "+key] = value
	}
	ports, _, _ := unstructured.NestedSlice(o.Object, "spec", "ports")
	for _, port := range ports {
		fields[fmt.Sprint("port ", port.(map[string]any)["port"])] = fmt.Sprint(port.(map[string]any)["name"])
	}
	if o.GetKind() == "Deployment" {
		maps.Copy(fields, environment(o))
	}
	return fields
}

func textAtPath(o *unstructured.Unstructured, path ...string) string {
	text, _, _ := unstructured.NestedString(o.Object, path...)
	return text
}

func environment(o *unstructured.Unstructured) map[string]string {
	fields := map[string]string{}
	containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
	for _, c := range containers {
		env, _, _ := unstructured.NestedSlice(c.(map[string]any), "env")
		for _, e := range env {
			fields[fmt.Sprint("env ", e.(map[string]any)["name"])] = fmt.Sprint(e.(map[string]any)["value"])
		}
	}
	return fields
}

// statuses returns the statuses of the stored revisions, by number of the revision.
func (l *releaseRun) statuses() map[int]string {
	l.Helper()
	list, err := l.Storage().List(func(*release.Release) bool { return true })
	harness.NoError(l, err)
	statuses := map[int]string{}
	for _, rel := range list {
		statuses[rel.Version] = rel.Info.Status.String()
	}
	return statuses
}

// deleteOne deletes an object as another client would, if it exists.
func (l *releaseRun) deleteOne(id string) {
	l.Helper()
	kind, name, _ := strings.Cut(id, "/")
	background := metav1.DeletePropagationBackground
	err := l.Client.Resource(randomResources[kind]).Namespace(l.Namespace).
		Delete(l.Context(), name, metav1.DeleteOptions{PropagationPolicy: &background})
	harness.NoError(l, err)
}

// patchOne changes an object as another client would.
func (l *releaseRun) patchOne(id, patch string) {
	l.Helper()
	kind, name, _ := strings.Cut(id, "/")
	_, err := l.Client.Resource(randomResources[kind]).Namespace(l.Namespace).
		Patch(l.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	harness.NoError(l, err)
}

// createForeign creates a ConfigMap that does not belong to the release, as another client
// would.
func (l *releaseRun) createForeign(id string) {
	l.Helper()
	l.log = append(l.log, fmt.Sprintf("%2d. somebody else: makes %s", len(l.log)+1, id))
	name := strings.TrimPrefix(id, "ConfigMap/")
	made, err := l.Cluster.Client().CoreV1().ConfigMaps(l.Namespace).Create(l.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		l.fatalf("%v", err)
	}
	l.foreignObjects[id] = made.ResourceVersion
}

// changedForeign returns a problem for each object of createForeign that was changed or
// deleted.
func (l *releaseRun) changedForeign() (problems []string) {
	l.Helper()
	for _, id := range sorted(l.foreignObjects) {
		o, err := l.Cluster.Client().CoreV1().ConfigMaps(l.Namespace).Get(l.Context(), strings.TrimPrefix(id, "ConfigMap/"), metav1.GetOptions{})
		if err != nil || o.ResourceVersion != l.foreignObjects[id] {
			problems = append(problems, fmt.Sprintf("%s belongs to somebody else, and was changed (%v)", id, err))
		}
	}
	return problems
}

// sorted returns the keys of a map, sorted.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
