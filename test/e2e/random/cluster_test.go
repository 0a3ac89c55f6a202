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

// liveObject is an object as the server has it.
type liveObject struct {
	uid   types.UID
	facts map[string]string
}

// randomResources are where the things of random charts are.
var randomResources = map[string]schema.GroupVersionResource{
	"ConfigMap": {Version: "v1", Resource: "configmaps"}, "Secret": {Version: "v1", Resource: "secrets"},
	"Service": {Version: "v1", Resource: "services"}, "ServiceAccount": {Version: "v1", Resource: "serviceaccounts"},
	"Pod": {Version: "v1", Resource: "pods"}, "Job": {Group: "batch", Version: "v1", Resource: "jobs"},
	"Deployment": {Group: "apps", Version: "v1", Resource: "deployments"},
}

// settleTime is how long what is being deleted may take to be gone.
const settleTime = time.Minute

// listObjects reads, by "Kind/name", what in the namespace bears the mark of the release.
// What is being deleted counts as gone: it waits until it is.
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
				found[id] = liveObject{uid: o.GetUID(), facts: fieldsOf(o)}
			}
		}
	}
	return found, going
}

// fieldsOf says what an object is like, as far as random charts and what others do
// to their objects can tell. What the server sets itself is left out.
func fieldsOf(o *unstructured.Unstructured) map[string]string {
	facts := map[string]string{}
	for key, value := range o.GetLabels() {
		if strings.HasPrefix(key, "t-") || strings.HasPrefix(key, "f-") {
			facts["label "+key] = value
		}
	}
	for key, value := range o.GetAnnotations() {
		if strings.HasPrefix(key, "t/") {
			facts["annotation "+key] = value
		}
	}
	put := func(key, value string) {
		if value != "" {
			facts[key] = value
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
		facts["data "+key] = value
	}
	ports, _, _ := unstructured.NestedSlice(o.Object, "spec", "ports")
	for _, port := range ports {
		facts[fmt.Sprint("port ", port.(map[string]any)["port"])] = fmt.Sprint(port.(map[string]any)["name"])
	}
	if o.GetKind() == "Deployment" {
		maps.Copy(facts, environment(o))
	}
	return facts
}

func textAtPath(o *unstructured.Unstructured, path ...string) string {
	text, _, _ := unstructured.NestedString(o.Object, path...)
	return text
}

func environment(o *unstructured.Unstructured) map[string]string {
	facts := map[string]string{}
	containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
	for _, c := range containers {
		env, _, _ := unstructured.NestedSlice(c.(map[string]any), "env")
		for _, e := range env {
			facts[fmt.Sprint("env ", e.(map[string]any)["name"])] = fmt.Sprint(e.(map[string]any)["value"])
		}
	}
	return facts
}

// statuses are those of the stored revisions.
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

// deleteOne deletes an object as somebody else would, if it is there.
func (l *releaseRun) deleteOne(id string) {
	l.Helper()
	kind, name, _ := strings.Cut(id, "/")
	background := metav1.DeletePropagationBackground
	err := l.Client.Resource(randomResources[kind]).Namespace(l.Namespace).
		Delete(l.Context(), name, metav1.DeleteOptions{PropagationPolicy: &background})
	harness.NoError(l, err)
}

// patchOne changes an object as somebody else would.
func (l *releaseRun) patchOne(id, patch string) {
	l.Helper()
	kind, name, _ := strings.Cut(id, "/")
	_, err := l.Client.Resource(randomResources[kind]).Namespace(l.Namespace).
		Patch(l.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	harness.NoError(l, err)
}

// createForeign makes a ConfigMap as somebody else would, who knows nothing of Helm.
func (l *releaseRun) createForeign(id string) {
	l.Helper()
	l.story = append(l.story, fmt.Sprintf("%2d. somebody else: makes %s", len(l.story)+1, id))
	name := strings.TrimPrefix(id, "ConfigMap/")
	made, err := l.Cluster.Client().CoreV1().ConfigMaps(l.Namespace).Create(l.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		l.fatalf("%v", err)
	}
	l.strangers[id] = made.ResourceVersion
}

// changedForeign says which objects of somebody else were changed.
func (l *releaseRun) changedForeign() (problems []string) {
	l.Helper()
	for _, id := range sorted(l.strangers) {
		o, err := l.Cluster.Client().CoreV1().ConfigMaps(l.Namespace).Get(l.Context(), strings.TrimPrefix(id, "ConfigMap/"), metav1.GetOptions{})
		if err != nil || o.ResourceVersion != l.strangers[id] {
			problems = append(problems, fmt.Sprintf("%s belongs to somebody else, and was changed (%v)", id, err))
		}
	}
	return problems
}

// sorted lists the keys of a map.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
