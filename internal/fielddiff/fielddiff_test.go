// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fielddiff_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ordered-helm/helm/internal/fakeapi"
	"github.com/ordered-helm/helm/internal/fielddiff"
	"github.com/ordered-helm/helm/internal/patch"
)

// deployment returns a Deployment with the given fields of its spec.
func deployment(spec string) string {
	return "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {" + spec + "}}"
}

func widget(spec string) string {
	return "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: {" + spec + "}}"
}

// template returns the pod template of a Deployment with the given fields of the pod spec.
func template(spec string) string { return "template: {spec: {" + spec + "}}" }

// TestCompare checks which fields of an object differ, and that Set makes them equal.
//   - "the value of the field that identifies it"
func TestCompare(t *testing.T) {
	for name, tt := range map[string]struct{ live, declared, want string }{
		"nothing":              {deployment("replicas: 1"), deployment("replicas: 1"), ""},
		"a value":              {deployment("replicas: 5"), deployment("replicas: 3"), "spec.replicas: 3, 5"},
		"a missing value":      {deployment(""), deployment("replicas: 3"), "spec.replicas: 3, <nil>"},
		"a value too many":     {deployment("replicas: 3"), deployment(""), "spec.replicas: <nil>, 3"},
		"a missing map":        {deployment(""), deployment("strategy: {type: a, rollingUpdate: {b: 1}}"), "spec.strategy.rollingUpdate.b: 1, <nil>; spec.strategy.type: a, <nil>"},
		"a missing empty map":  {deployment(""), deployment("strategy: {}"), "spec.strategy: map[], <nil>"},
		"another type":         {deployment("strategy: a"), deployment("strategy: {b: c}"), "spec.strategy: map[b:c], a"},
		"an unusual name":      {deployment("a.b/c: 1"), deployment("a.b/c: 2"), `spec["a.b/c"]: 2, 1`},
		"an item":              {deployment(template("containers: [{name: c, image: b}]")), deployment(template("containers: [{name: c, image: a}]")), "spec.template.spec.containers[name=c].image: a, b"},
		"items in other order": {deployment(template("containers: [{name: b}, {name: c}]")), deployment(template("containers: [{name: c}, {name: b}]")), "spec.template.spec.containers: [c b], [b c]"},
		"a missing item":       {deployment(template("containers: [{name: c}]")), deployment(template("containers: [{name: c}, {name: d}]")), "spec.template.spec.containers[name=d]: map[name:d], <nil>"},
		"an item too many":     {deployment(template("containers: [{name: c}, {name: d}]")), deployment(template("containers: [{name: c}]")), "spec.template.spec.containers[name=d]: <nil>, map[name:d]"},
		"an unusual key": {
			deployment(template("containers: [{name: c, volumeMounts: [{mountPath: 'a b', name: x}]}]")), deployment(template("containers: [{name: c, volumeMounts: [{mountPath: 'a b', name: z}]}]")),
			`spec.template.spec.containers[name=c].volumeMounts[mountPath="a b"].name: z, x`,
		},
		"values":                 {deployment(template("containers: [{name: c, args: [a]}]")), deployment(template("containers: [{name: c, args: [a, b]}]")), "spec.template.spec.containers[name=c].args: [a b], [a]"},
		"keys that are equal":    {deployment(template("containers: [{name: c}, {name: c}]")), deployment(template("containers: [{name: c, image: a}, {name: c}]")), "spec.template.spec.containers[0].image: a, <nil>"},
		"a custom resource":      {widget("list: [{a: 1}, {a: 2}]"), widget("list: [{a: 1}, {a: 3}]"), "spec.list[1].a: 3, 2"},
		"a list of other length": {widget("list: [{a: 1}]"), widget("list: [{a: 1}, {a: 3}]"), "spec.list: [map[a:1] map[a:3]], [map[a:1]]"},
		"a set": {
			"{apiVersion: v1, kind: Service, metadata: {name: s, finalizers: [a, x/y]}}", "{apiVersion: v1, kind: Service, metadata: {name: s, finalizers: [b, x/y]}}",
			"metadata.finalizers[=b]: b, <nil>; metadata.finalizers[=a]: <nil>, a",
		},
	} {
		t.Run(name, func(t *testing.T) {
			live, declared := fakeapi.Object(t, tt.live).Object, fakeapi.Object(t, tt.declared).Object
			info := fakeapi.Info(t, tt.declared)
			var got []string
			fixed := any(runtime.DeepCopyJSON(live))
			for _, d := range fielddiff.Compare(live, declared, patch.SchemaOf(info)) {
				got = append(got, fmt.Sprintf("%s: %v, %v", d.Path, d.Declared, d.Live))
				fixed = fielddiff.Set(fixed, d.Path, d.Declared)
				pattern, err := fielddiff.ParsePattern(d.Path.String())
				if err != nil || !pattern.Matches(d.Path) {
					t.Errorf("the path %s does not match itself: %v", d.Path, err)
				}
			}
			if text := strings.Join(got, "; "); text != tt.want {
				t.Errorf("got\n%s\nwant\n%s", text, tt.want)
			}
			if name == "items in other order" || name == "a set" {
				return // Set cannot reorder items
			}
			if rest := fielddiff.Compare(fixed.(map[string]any), declared, patch.SchemaOf(info)); len(rest) > 0 {
				t.Errorf("after Set, the differences are %v", rest)
			}
		})
	}
}

// TestManagers checks which client has set a field.
//   - "It does not know who has removed a field"
func TestManagers(t *testing.T) {
	live := fakeapi.Object(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, managedFields: [
		{manager: helm, operation: Update, time: "2026-01-01T00:00:00Z", fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:replicas": {}, "f:selector": {"f:x": {}}, "f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"c\"}": {".": {}, "f:args": {}, "f:ports": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {"f:name": {}}}}}}}}, "f:metadata": {"f:finalizers": {"v:\"a\"": {}}}}},
		{manager: kubectl, operation: Update, time: "2026-01-02T00:00:00Z", fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:replicas": {}, "f:selector": {}, "f:strategy": {".": {}, "f:type": {}}}}},
		{manager: broken, operation: Update, fieldsType: FieldsV1, fieldsV1: {"x": {}}}]}}`)
	managers := fielddiff.ManagersOf(live)
	field := func(names ...string) (path fielddiff.Path) {
		for _, name := range names {
			path = append(path, fielddiff.Element{Name: name})
		}
		return path
	}
	container := append(field("spec", "template", "spec", "containers"), fielddiff.Element{Kind: fielddiff.Key, Name: "name", Value: "c"})
	port := slices.Concat(container, fielddiff.Path{{Name: "ports"}, {Kind: fielddiff.Key, Name: "containerPort", Value: int64(80)}, {Name: "name"}})
	for _, tt := range []struct {
		path fielddiff.Path
		want string
	}{
		{field("spec", "replicas"), "kubectl 2026-01-02"}, {field("spec", "strategy", "type"), "kubectl 2026-01-02"}, {field("spec", "strategy"), "kubectl 2026-01-02"},
		{field("spec", "selector", "x"), "helm 2026-01-01"}, {field("spec", "selector", "y"), "kubectl 2026-01-02"},
		{field("spec", "strategy", "other"), " 0001-01-01"}, {field("spec", "paused"), " 0001-01-01"}, {container, "helm 2026-01-01"}, {port, "helm 2026-01-01"},
		{append(container[:len(container):len(container)], fielddiff.Element{Name: "args"}, fielddiff.Element{Kind: fielddiff.Index, Index: 1}), "helm 2026-01-01"},
		{append(field("metadata", "finalizers"), fielddiff.Element{Kind: fielddiff.Value, Value: "a"}), "helm 2026-01-01"},
	} {
		manager, at := managers.Of(tt.path)
		if got := manager + " " + at.Format(time.DateOnly); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.path, got, tt.want)
		}
	}
}

// TestPattern checks which fields a pattern selects.
//   - "A path also selects everything below it"
//   - "stands for any text in a name or value"
func TestPattern(t *testing.T) {
	image := fielddiff.Path{
		{Name: "spec"}, {Name: "template"}, {Name: "spec"}, {Name: "containers"}, {Kind: fielddiff.Key, Name: "name", Value: "web"}, {Name: "image"},
	}
	annotation := fielddiff.Path{{Name: "metadata"}, {Name: "annotations"}, {Name: "example.com/a"}}
	item := fielddiff.Path{{Name: "spec"}, {Name: "list"}, {Kind: fielddiff.Index, Index: 1}, {Name: "a"}}
	value := fielddiff.Path{{Name: "metadata"}, {Name: "finalizers"}, {Kind: fielddiff.Value, Value: "a/b"}}
	for _, tt := range []struct {
		path    fielddiff.Path
		matches []string
		others  []string
	}{
		{
			image, []string{"spec", "spec.template", "spec.template.spec.containers", "spec.template.spec.containers[name=web].image", "spec.template.spec.containers[*].image", "spec.template.spec.containers[name=w*]", "**.image", "**", "sp*", "**.containers[*]", "spec.**.spec.**.image"},
			[]string{"spec.replicas", "spec.template.spec.containers[name=db]", "spec.template.spec.containers[0]", "image", "**.images", "spec.*.image", "spec.template.spec.containers[name=web].image.a", "spec.template.spec.containers.*"},
		},
		{annotation, []string{`metadata.annotations["example.com/a"]`, `metadata.annotations["example.com/*"]`, "metadata.annotations.*", `**["*/a"]`}, []string{`metadata.annotations["example.com/b"]`, "metadata.annotations[*]", "metadata.labels"}},
		{item, []string{"spec.list[1]", "spec.list[*].a", "spec.list[1].a"}, []string{"spec.list[0]", "spec.list[a=1]", "spec.list[=1]"}},
		{value, []string{"metadata.finalizers[=a/b]", `metadata.finalizers[="a/b"]`, "metadata.finalizers[=*]", "metadata.finalizers[*]"}, []string{"metadata.finalizers[=a]"}},
	} {
		for want, patterns := range map[bool][]string{true: tt.matches, false: tt.others} {
			for _, text := range patterns {
				pattern, err := fielddiff.ParsePattern(text)
				if err != nil {
					t.Fatal(err)
				}
				if pattern.Matches(tt.path) != want {
					t.Errorf("%s matches %s: %v, want %v", text, tt.path, !want, want)
				}
			}
		}
	}
	for _, text := range []string{"", ".", "a.", "a..b", "a.[0]", "a[", "a[0", "a[-1]", "a[b]", `a["b]`, "a[0]b", "a[b=", "a b", "a=b", "a]", "x**", strings.Repeat("a", 2000)} {
		if _, err := fielddiff.ParsePattern(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

// FuzzPattern checks that each pattern that is accepted matches what it says, and that matching ends.
func FuzzPattern(f *testing.F) {
	for _, text := range []string{"spec.replicas", `a["b.c"][0].d[e=f]`, "**.a[*]", `[="x"]`} {
		f.Add(text, "spec", "a/b")
	}
	f.Fuzz(func(t *testing.T, text, name, value string) {
		path := fielddiff.Path{{Name: name}, {Kind: fielddiff.Key, Name: "name", Value: value}, {Kind: fielddiff.Value, Value: value}, {Kind: fielddiff.Index, Index: len(name)}}
		if pattern, err := fielddiff.ParsePattern(text); err == nil {
			pattern.Matches(path)
		}
		if own, err := fielddiff.ParsePattern(path.String()); err == nil && !own.Matches(path) {
			t.Errorf("%s does not match itself", path)
		}
	})
}
