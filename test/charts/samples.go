// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"fmt"
	"testing"
)

// HangingChart writes a chart with three layers, of which the second never becomes ready and
// has the given readiness timeout.
func HangingChart(tb testing.TB, timeout string) string {
	tb.Helper()
	never := Pod("never", "second", "helm.sh/readiness-timeout: "+timeout, "devcluster/pod: never")
	never.DependsOn = "first"
	return Write(tb, Object{Name: "first", Layer: "first"}, never, Object{Name: "third", Layer: "third", DependsOn: "second"})
}

// OwnConfigMap returns the manifest of a ConfigMap named own, with a value.
func OwnConfigMap(value string) string { return Object{Name: "own", Value: value}.Manifest() }

// UnreadyObjects returns ThreeLayerObjects with a Deployment that never becomes ready.
func UnreadyObjects(value string, more ...Object) []Object {
	objects := ThreeLayerObjects(value)
	objects[1].PodAnnotations, objects[1].Annotations = NeverReady, []string{"helm.sh/readiness-timeout: 4m"}
	return append(objects, more...)
}

// FailingObjects returns the objects of a revision that fails: ThreeLayerObjects with
// additional objects, without the last ConfigMap, and with a Deployment that never becomes
// ready.
func FailingObjects(value string) []Object {
	objects := ThreeLayerObjects(value)
	objects[1].PodAnnotations, objects[1].Annotations, objects[1].DependsOn = NeverReady, ShortTimeout, "first, over"
	return append(objects[:2], Object{Name: "extra", Layer: "extra"}, Object{Name: "over", Layer: "over", DependsOn: "extra"},
		Object{Name: "marked", Layer: "extra", Annotations: []string{"bad: a"}})
}

// ThreeLayers writes a chart with ThreeLayerObjects and additional objects.
func ThreeLayers(tb testing.TB, value string, more ...Object) string {
	tb.Helper()
	return Write(tb, append(ThreeLayerObjects(value), more...)...)
}

// ThreeLayerObjects returns three objects in layers of their own: ConfigMap first, Deployment
// app, which depends on it, and ConfigMap last, which depends on the Deployment.
func ThreeLayerObjects(value string) []Object {
	return []Object{
		{Name: "first", Layer: "first", Value: value},
		{Kind: "Deployment", Name: "app", Layer: "app", DependsOn: "first", Value: value, Annotations: LongTimeout},
		{Name: "last", Layer: "last", DependsOn: "app", Value: value},
	}
}

// OddObjects returns ThreeLayerObjects and two additional ConfigMaps, odd and odder.
func OddObjects(value string) []Object {
	return append(ThreeLayerObjects(value), Object{Name: "odd", Layer: "odd", DependsOn: "last"}, Object{Name: "odder", Layer: "odder", DependsOn: "odd"})
}

// WithMissingConfigMap writes a chart whose pods need MissingConfigMap, which is not part of
// the chart.
func WithMissingConfigMap(tb testing.TB, value string) string {
	tb.Helper()
	objects := ThreeLayerObjects(value)
	objects[1].Annotations = []string{"helm.sh/readiness-timeout: 3s"}
	dir := Write(tb, objects...)
	Edit(tb, dir, "templates/all.yaml", "{name: c, image: i,", "{name: c, image: i, envFrom: [{configMapRef: {name: outside}}],")
	return dir
}

// MissingConfigMap is the manifest of a ConfigMap that the pods of WithMissingConfigMap need.
const MissingConfigMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: outside}\ndata: {a: b}\n"

// FullChart writes a chart with hooks for every operation, a subchart, and layers with every
// kind of object that Helm waits for. The contents of its objects depend on the value.
func FullChart(tb testing.TB) string {
	tb.Helper()
	const value = "{{ .Values.value }}"
	var hooks []Object
	for _, when := range []string{"pre", "post"} {
		job := Object{Kind: "Job", Hook: fmt.Sprintf("%[1]s-install,%[1]s-upgrade,%[1]s-rollback,%[1]s-delete", when)}
		// This hook fails if the object of its previous run still exists.
		once, again := job, job
		once.Name, once.DeletePolicy, once.PodAnnotations = when+"-once", "hook-succeeded", []string{"devcluster/after: 100ms"}
		again.Name, again.DeletePolicy, again.PodAnnotations = when+"-again", "before-hook-creation,hook-succeeded", []string{"devcluster/after: 0s"}
		hooks = append(hooks, once, again)
	}
	hooks = append(hooks, Object{Name: "of-hooks", Hook: "pre-install,pre-upgrade,pre-rollback", Weight: -1})
	return Chart{
		Metadata:  "annotations: {helm.sh/depends-on/subcharts: '[\"backend\"]'}\ndependencies: [{name: backend, version: 0.1.0}]\n",
		Values:    "value: '0'\n",
		Templates: map[string]string{"hooks.yaml": Manifests(hooks...)},
		Objects: []Object{
			{Name: "first", Layer: "first", Value: value},
			{Kind: "Deployment", Name: "app", Layer: "app", DependsOn: "first", Value: value, Annotations: LongTimeout},
			{Kind: "Job", Name: "work-" + value, Layer: "work", DependsOn: "first", PodAnnotations: []string{"devcluster/after: 200ms"}, Annotations: LongTimeout},
			{Name: "of-" + value, Layer: "work", DependsOn: "first"},
			{Name: "last", Layer: "last", DependsOn: "app,work", Value: value},
		},
		Subcharts: []Chart{{
			Name: "backend", Values: "value: '0'\n",
			Objects: []Object{{Kind: "Deployment", Name: "backend", Value: value, Annotations: LongTimeout}},
		}},
	}.Write(tb)
}

// FullChartArgs returns the arguments to install or upgrade a FullChart with a value.
func FullChartArgs(verb, dir, value string) []string {
	return []string{verb, "rel", dir, "--wait=ordered", "--timeout", "2m", "--set", "value=" + value + ",backend.value=" + value}
}
