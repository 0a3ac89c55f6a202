// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"testing"
)

// HangingChart is a chart of three layers whose second never gets ready.
func HangingChart(tb testing.TB, timeout string) string {
	tb.Helper()
	never := Pod("never", "second", "helm.sh/readiness-timeout: "+timeout, "devcluster/pod: never")
	never.DependsOn = "first"
	return Write(tb, Object{Name: "first", Layer: "first"}, never, Object{Name: "third", Layer: "third", DependsOn: "second"})
}

// OwnConfigMap is a release's own resource.
func OwnConfigMap(value string) string { return Object{Name: "own", Value: value}.Manifest() }

// UnreadyObjects are threeParts whose second is not ready for minutes.
func UnreadyObjects(value string, more ...Object) []Object {
	parts := ThreeLayerObjects(value)
	parts[1].PodAnnotations, parts[1].Annotations = NeverReady, []string{"helm.sh/readiness-timeout: 4m"}
	return append(parts, more...)
}

// FailingObjects are a revision that creates two more objects, sets one more field,
// no longer has what was last, and then hangs.
func FailingObjects(value string) []Object {
	parts := ThreeLayerObjects(value)
	parts[1].PodAnnotations, parts[1].Annotations, parts[1].DependsOn = NeverReady, ShortTimeout, "first, over"
	return append(parts[:2], Object{Name: "extra", Layer: "extra"}, Object{Name: "over", Layer: "over", DependsOn: "extra"},
		Object{Name: "marked", Layer: "extra", Annotations: []string{"bad: a"}})
}

// ThreeLayers is a chart of three layers, each object with a value.
func ThreeLayers(tb testing.TB, value string, more ...Object) string {
	tb.Helper()
	return Write(tb, append(ThreeLayerObjects(value), more...)...)
}

func ThreeLayerObjects(value string) []Object {
	return []Object{
		{Name: "first", Layer: "first", Value: value},
		{Kind: "Deployment", Name: "app", Layer: "app", DependsOn: "first", Value: value, Annotations: LongTimeout},
		{Name: "last", Layer: "last", DependsOn: "app", Value: value},
	}
}

// OddObjects is another revision, which has two objects of its own.
func OddObjects(value string) []Object {
	return append(ThreeLayerObjects(value), Object{Name: "odd", Layer: "odd", DependsOn: "last"}, Object{Name: "odder", Layer: "odder", DependsOn: "odd"})
}

// WithMissingConfigMap are a revision whose pods need what is not of the release.
func WithMissingConfigMap(tb testing.TB, value string) string {
	tb.Helper()
	parts := ThreeLayerObjects(value)
	parts[1].Annotations = []string{"helm.sh/readiness-timeout: 3s"}
	dir := Write(tb, parts...)
	Edit(tb, dir, "templates/all.yaml", "{name: c, image: i,", "{name: c, image: i, envFrom: [{configMapRef: {name: outside}}],")
	return dir
}

const MissingConfigMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: outside}\ndata: {a: b}\n"

// SlowThreeLayers is three, whose Deployment takes a while to be ready.
func SlowThreeLayers(tb testing.TB, value, after string, more ...Object) string {
	tb.Helper()
	parts := ThreeLayerObjects(value)
	parts[1].PodAnnotations = []string{`devcluster/after: "` + after + `"`}
	return Write(tb, append(parts, more...)...)
}
