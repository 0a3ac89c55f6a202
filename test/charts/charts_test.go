// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// parse parses the manifest of an object.
func parse(t *testing.T, o Object) *unstructured.Unstructured {
	t.Helper()
	parsed := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict([]byte(o.Manifest()), &parsed.Object); err != nil {
		t.Fatalf("%v in\n%s", err, o.Manifest())
	}
	if id := parsed.GetKind() + "/" + parsed.GetName(); id != o.String() || parsed.GetAPIVersion() == "" {
		t.Errorf("%s is written as %s %s", o, parsed.GetAPIVersion(), id)
	}
	return parsed
}

// TestManifestsOfEveryKind checks the manifests of objects of every kind with all fields set.
func TestManifestsOfEveryKind(t *testing.T) {
	want := map[string]string{
		"helm.sh/layer": "web", "depends-on.helm.sh/layers": "db, cache", "helm.sh/hook": "pre-install,test", "helm.sh/hook-weight": "-5",
		"helm.sh/hook-delete-policy": "hook-succeeded", "helm.sh/hook-output-log-policy": "hook-failed", IDAnnotation: "id", "helm.sh/readiness-timeout": "30s",
	}
	workloads := []string{"Job", "Deployment", "DaemonSet", "ReplicaSet", "StatefulSet", "ReplicationController"}
	for _, kind := range slices.Concat(workloads, []string{"", "Pod", "Thing"}, slices.Collect(maps.Keys(kinds))) {
		for _, name := range []string{"web", "y", "n"} {
			o := Object{
				Kind: kind, Name: name, Layer: "web", DependsOn: "db, cache", Value: "v", Hook: "pre-install,test", Weight: -5,
				DeletePolicy: "hook-succeeded", LogPolicy: "hook-failed", ID: "id", Gate: "gate", Annotations: LongTimeout,
			}
			if got := parse(t, o).GetAnnotations(); !maps.Equal(got, want) {
				t.Errorf("%s has the annotations %v", o, got)
			}
		}
	}
	parse(t, Definition("example.com", "Widget"))
	parse(t, CustomResource("example.com", "Widget", "one"))
}

// TestPodTemplate checks the pod template in the manifest of a workload.
func TestPodTemplate(t *testing.T) {
	o := Object{
		Kind: "Job", Name: "work", Value: "v", Gate: "gate", Hook: "test", Spec: []string{"backoffLimit: 3", "ttlSecondsAfterFinished: 0"},
		PodAnnotations: NeverReady, PodSpec: "serviceAccountName: account", Containers: []string{"a", "b"},
	}
	parsed := parse(t, o)
	limit, _, _ := unstructured.NestedFieldNoCopy(parsed.Object, "spec", "backoffLimit")
	template, _, _ := unstructured.NestedMap(parsed.Object, "spec", "template")
	text, err := yaml.Marshal(template)
	if err != nil {
		t.Fatal(err)
	}
	var pod corev1.PodTemplateSpec
	if err := yaml.UnmarshalStrict(text, &pod); err != nil {
		t.Fatal(err)
	}
	if limit != 3.0 && limit != int64(3) || pod.Annotations["devcluster/pod"] != "never" || pod.Labels["app"] != "work" {
		t.Errorf("the limit is %v, the metadata of the pods %+v", limit, pod.ObjectMeta)
	}
	if len(pod.Spec.Containers) != 2 || pod.Spec.Containers[1].Env[0].Value != "v" || pod.Spec.Volumes[0].ConfigMap.Name != "gate" ||
		pod.Spec.RestartPolicy != corev1.RestartPolicyNever || pod.Spec.ServiceAccountName != "account" {
		t.Errorf("the spec of the pods is %+v", pod.Spec)
	}
}

// TestChartFiles checks which files Chart.Write writes.
func TestChartFiles(t *testing.T) {
	dir := Chart{
		HookMode: "true", Values: "a: b\n", CRDs: Definition("example.com", "Widget").Manifest(),
		Objects: []Object{{Name: "one"}}, Templates: map[string]string{"NOTES.txt": "Done.\n"},
		Subcharts: []Chart{{Name: "sub", TemplatePerObject: true, Objects: []Object{{Name: "two"}}}},
	}.Write(t)
	Edit(t, dir, "templates/all.yaml", "name: one", "name: other")
	want := map[string]string{
		"Chart.yaml": Metadata + "runHooksInParallel: true\n", "values.yaml": "a: b\n", "crds/all.yaml": Definition("example.com", "Widget").Manifest(),
		"templates/all.yaml": ConfigMap("other"), "templates/NOTES.txt": "Done.\n",
		"charts/sub/Chart.yaml": "apiVersion: v3\nname: sub\nversion: 0.1.0\n", "charts/sub/templates/two.yaml": ConfigMap("two"),
	}
	for name, text := range want {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != text {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, text)
		}
	}
}
