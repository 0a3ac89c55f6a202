// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/ordered-helm/helm/internal/fakeapi"
	"github.com/ordered-helm/helm/internal/object"
)

func TestMergeDeclarations(t *testing.T) {
	arguments := func(list string) string { return strings.Replace(deployment("a", ""), "env: []", "args: "+list, 1) }
	for _, c := range []struct{ name, older, newer, want string }{
		{"equal", fakeapi.ConfigMap("a", "x: i"), fakeapi.ConfigMap("a", "x: i"), fakeapi.ConfigMap("a", "x: i")},
		{"keys of both", fakeapi.ConfigMap("a", "x: i, gone: g, s: s"), fakeapi.ConfigMap("a", "x: ii, new: n, s: s"), fakeapi.ConfigMap("a", "x: ?, gone: ?, new: ?, s: s")},
		{
			"items of both", deployment("a", "{name: A, value: x}, {name: B, value: y}, {name: C, value: z}"), deployment("a", "{name: D, value: z}, {name: A, valueFrom: {}}, {name: C, value: z}"),
			deployment("a", "{name: D, value: ?}, {name: A, value: ?, valueFrom: ?}, {name: C, value: z}, {name: B, value: ?}"),
		},
		{"an item twice", deployment("a", "{name: A, value: x}, {name: A, value: y}"), deployment("a", "{name: A, value: x}"), deployment("a", "{name: A, value: x}")},
		{"items without a key", deployment("a", "{name: A}"), deployment("a", "null, text, {value: x}, {name: B}"), deployment("a", "{name: B}, {name: A}")},
		{"equal items without a key", deployment("a", "{value: x}"), deployment("a", "{value: x}"), deployment("a", "")},
		{"items without a key, in the newer alone", "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}", deployment("a", "text"), deployment("a", "")},
		{
			"values of both", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, finalizers: [x, y]}}", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, finalizers: [z, null, y]}}",
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, finalizers: [z, y, x]}}",
		},
		{"lists that are replaced", arguments("[a, b]"), arguments("[c]"), arguments("?")},
		{"a null in place of a list", arguments("[a]"), arguments("null"), arguments("?")},
		{"nulls", fakeapi.ConfigMap("a", "x: i, w: null"), "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: null}, data: null, x: null}", strings.Replace(fakeapi.ConfigMap("a", "x: ?, w: null}, x: null, more: {"), "Helm", "?", 1)},
		{"a null in place of a value", fakeapi.ConfigMap("a", "x: i"), fakeapi.ConfigMap("a", "x: null"), fakeapi.ConfigMap("a", "x: ?")},
		{"a slip in place of a map", fakeapi.ConfigMap("a", "x: i"), strings.Replace(fakeapi.ConfigMap("a", ""), "data: {}", "data: text", 1), fakeapi.ConfigMap("a", "x: ?")},
		{"a slip in place of a list", deployment("a", "{name: A}"), strings.Replace(deployment("a", ""), "env: []", "env: text", 1), deployment("a", "{name: A}")},
		{"a slip in place of a value", fakeapi.ConfigMap("a", "x: i, w: i, v: i"), fakeapi.ConfigMap("a", "x: 1, w: {}, v: []"), fakeapi.ConfigMap("a", "x: ?, w: ?, v: ?")},
		{"another version", widget("x: 1"), strings.Replace(widget("y: 1, z: {a: 1}"), "/v1", "/v2", 1), strings.Replace(widget("y: ?, z: {a: ?}"), "/v1", "/v2", 1)},
		{"custom", widget("same: 1, x: 1, list: [1], gone: {b: {c: 1}}"), widget("same: 1, x: 2, list: [2], new: {}"), widget("same: 1, x: ?, list: ?, gone: {b: {c: ?}}, new: ?")},
		{"custom, of another shape", widget("x: {b: 1}, w: 1"), widget("x: 1, w: {b: 1}"), widget("x: {b: ?}, w: {b: ?}")},
		{"custom, nulls", widget("x: 1, w: null, v: null"), widget("x: null, w: 1, v: null"), widget("x: ?, w: ?, v: null")},
		{
			"a namespace that one leaves out", strings.Replace(widget("x: 1"), "name: one", "name: one, namespace: ns", 1), widget("x: 1"),
			strings.Replace(widget("x: 1"), "name: one", "name: one, namespace: ns", 1),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			older, newer := fakeapi.Info(t, c.older).Object, fakeapi.Info(t, c.newer).Object
			got, err := MergeDeclarations(older, newer)
			if err != nil {
				t.Fatal(err)
			}
			want := fakeapi.Info(t, strings.ReplaceAll(c.want, "?", `"`+object.ConflictingValue+`"`)).Object.(*unstructured.Unstructured)
			delete(want.Object, "more") // a helper field of the test, only for the closing brace
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %v\nwant %v", got, want)
			}
			overwrite(got.Object)
			if !reflect.DeepEqual(older, fakeapi.Info(t, c.older).Object) || !reflect.DeepEqual(newer, fakeapi.Info(t, c.newer).Object) {
				t.Error("the arguments changed")
			}
		})
	}
}

// overwrite changes every part of a value in place.
func overwrite(value any) {
	switch v := value.(type) {
	case map[string]any:
		for _, field := range v {
			overwrite(field)
		}
		v["overwrite"] = true
	case []any:
		for i := range v {
			overwrite(v[i])
			v[i] = "overwrite"
		}
	}
}

func TestMergeDeclarationsTyped(t *testing.T) {
	typed := &appsv1.Deployment{}
	typed.APIVersion, typed.Kind, typed.Name = "apps/v1", "Deployment", "a"
	got, err := MergeDeclarations(typed, fakeapi.Info(t, deployment("a", "{name: A}")).Object)
	if err != nil || got.GetName() != "a" {
		t.Errorf("got %v, %v", got, err)
	}
	for _, c := range [][2]runtime.Object{{nil, typed}, {typed, nil}} {
		if _, err := MergeDeclarations(c[0], c[1]); err == nil {
			t.Error("merged with nothing")
		}
	}
}

// objectHistory holds the live object, and the base after several revisions that may not have
// been applied.
type objectHistory struct {
	*testing.T
	live *unstructured.Unstructured
	base *unstructured.Unstructured
}

// TestMergeAfterRejection checks that a declaration that the server has rejected is sent
// again.
func TestMergeAfterRejection(t *testing.T) {
	secret := func(value string) string {
		return "{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {password: " + value + "}}"
	}
	image := func(deployment, image string) string {
		return strings.Replace(deployment, "name: main", "name: main, image: "+image, 1)
	}
	for _, c := range []struct {
		name, deployed, rejected, want string
	}{
		{
			"a number for a text", image(deployment("a", `{name: PORT, value: "80"}`), "app:1"), image(deployment("a", "{name: PORT, value: 8080}"), "app:2"),
			`{"spec":{"template":{"spec":{"containers":[{"env":[{"name":"PORT","value":8080}],"image":"app:2","name":"main"}]}}}}`,
		},
		{"what the server does not show", secret("old"), secret("12345"), `{"stringData":{"password":12345}}`},
		{"a map for a text", fakeapi.ConfigMap("a", "x: i"), fakeapi.ConfigMap("a", "x: {}"), `{"data":{"x":{}}}`},
		{"a list for a text", fakeapi.ConfigMap("a", "x: i"), fakeapi.ConfigMap("a", "x: []"), `{"data":{"x":[]}}`},
		{"what is new", fakeapi.ConfigMap("a", ""), fakeapi.ConfigMap("a", "x: 1"), `{"data":{"x":1}}`},
		{"custom, in another version", widget("x: 1"), strings.Replace(widget("x: 2"), "/v1", "/v2", 1), `{"spec":{"x":2}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			live := fakeapi.Info(t, c.deployed).Object.(*unstructured.Unstructured)
			base := live.DeepCopy()
			for range 3 {
				target := fakeapi.Info(t, c.rejected)
				p, err := Compute(target, base, live, false)
				if err != nil || p.IsEmpty() {
					t.Fatalf("got %s, %v", p.Data, err)
				}
				if base, err = MergeDeclarations(base, target.Object); err != nil {
					t.Fatal(err)
				}
			}
			p, err := Compute(fakeapi.Info(t, c.rejected), base, live, false)
			if err != nil || string(p.Data) != c.want {
				t.Errorf("got %s, %v, want %s", p.Data, err, c.want)
			}
		})
	}
}

// step adds a revision that declares the object. applied is true if the declaration is
// applied.
func (h *objectHistory) step(manifest string, applied bool) {
	h.Helper()
	target := fakeapi.Info(h.T, manifest)
	declared := target.Object.(*unstructured.Unstructured)
	if applied {
		p, err := Compute(target, h.base, h.live, false)
		if err != nil {
			h.Fatalf("%s on %v: %v", manifest, h.base, err)
		}
		h.live = h.patched(p)
	}
	merged, err := MergeDeclarations(h.base, declared)
	if err != nil {
		h.Fatal(err)
	}
	h.base = merged
}

func (h *objectHistory) patched(p Patch) *unstructured.Unstructured {
	h.Helper()
	if p.IsEmpty() {
		return h.live
	}
	data, err := json.Marshal(h.live.Object)
	if err != nil {
		h.Fatal(err)
	}
	if p.Type == types.MergePatchType {
		data, err = jsonpatch.MergePatch(data, p.Data)
	} else {
		data, err = strategicpatch.StrategicMergePatch(data, p.Data, appsv1.Deployment{})
	}
	if err != nil {
		h.Fatalf("%s: %v", p.Data, err)
	}
	live := &unstructured.Unstructured{}
	if err := live.UnmarshalJSON(data); err != nil {
		h.Fatal(err)
	}
	return live
}

// TestMergeDeclarationsAsBase checks that a patch with a merged base changes the object to
// what the last revision declares, regardless of which earlier revisions were applied.
func TestMergeDeclarationsAsBase(t *testing.T) {
	for name, declare := range map[string]func(*rand.Rand, bool) string{"custom": randomWidget, "known": randomDeployment} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(200) {
				random := rand.New(rand.NewPCG(seed, 1))
				first := fakeapi.Info(t, declare(random, false)).Object.(*unstructured.Unstructured)
				h := &objectHistory{T: t, live: withoutNulls(first.DeepCopy()), base: first}
				for range random.IntN(4) {
					broken := random.IntN(4) == 0
					h.step(declare(random, broken), !broken && random.IntN(2) == 0)
				}
				last := declare(random, false)
				before := h.live
				h.step(last, true)
				want := withoutNulls(fakeapi.Info(t, last).Object.(*unstructured.Unstructured))
				if got, wanted := canonical(h.live), canonical(want); got != wanted {
					t.Fatalf("seed %d: got\n%s\nwant\n%s\nfrom\n%s", seed, got, wanted, canonical(before))
				}
			}
		})
	}
}

// withoutNulls returns an object as the server stores it: without null fields.
func withoutNulls(u *unstructured.Unstructured) *unstructured.Unstructured {
	dropNulls(u.Object)
	return u
}

func dropNulls(fields map[string]any) {
	for key, value := range fields {
		if value == nil {
			delete(fields, key)
		}
		if below, ok := value.(map[string]any); ok {
			dropNulls(below)
		}
	}
}

// canonical returns an object as text. It ignores the order of list items with names, and
// empty maps and lists.
func canonical(u *unstructured.Unstructured) string {
	return fmt.Sprint(canonicalValue(u.Object))
}

func canonicalValue(value any) any {
	switch v := value.(type) {
	case map[string]any:
		fields := map[string]any{}
		for key, field := range v {
			if c := canonicalValue(field); c != nil {
				fields[key] = c
			}
		}
		if len(fields) == 0 {
			return nil
		}
		return fields
	case []any:
		items := map[string]any{}
		for i, item := range v {
			fields, ok := item.(map[string]any)
			if !ok {
				items[fmt.Sprintf("%03d", i)] = item
				continue
			}
			items[fmt.Sprint(fields["name"])] = canonicalValue(item)
		}
		if len(items) == 0 {
			return nil
		}
		return items
	}
	return value
}

func randomWidget(random *rand.Rand, broken bool) string {
	var value func(depth int) string
	value = func(depth int) string {
		switch n := random.IntN(8); {
		case n < 3 && depth > 0:
			var fields []string
			for _, key := range []string{"a", "b", "c"} {
				if random.IntN(2) == 0 {
					fields = append(fields, key+": "+value(depth-1))
				}
			}
			return "{" + strings.Join(fields, ", ") + "}"
		case n == 3:
			return fmt.Sprintf("[%d]", random.IntN(2))
		case n == 4 && broken:
			return "null"
		default:
			return fmt.Sprint(random.IntN(2))
		}
	}
	return widget("a: " + value(2) + ", b: " + value(2))
}

func randomDeployment(random *rand.Rand, broken bool) string {
	some := func(names ...string) []string {
		var chosen []string
		for _, name := range names {
			if random.IntN(2) == 0 {
				chosen = append(chosen, name)
			}
		}
		random.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
		return chosen
	}
	var containers []string
	for _, name := range some("main", "sidecar") {
		var env []string
		for _, variable := range some("A", "B", "C") {
			env = append(env, fmt.Sprintf("{name: %s, value: v%d}", variable, random.IntN(2)))
		}
		if broken {
			env = append(env, []string{"null", "A=b", "{value: x}", "[x]"}[random.IntN(4)])
		}
		containers = append(containers, fmt.Sprintf("{name: %s, image: i%d, args: [a%d], env: [%s]}", name, random.IntN(2), random.IntN(2), strings.Join(env, ", ")))
	}
	var labels []string
	for _, name := range some("l", "m") {
		labels = append(labels, fmt.Sprintf("%s: v%d", name, random.IntN(2)))
	}
	if broken && random.IntN(2) == 0 {
		containers = append(containers, "null")
	}
	return fmt.Sprintf("{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, labels: {%s}}, spec: {template: {spec: {containers: [%s], nodeSelector: %s}}}}",
		strings.Join(labels, ", "), strings.Join(containers, ", "), []string{"{}", "{a: b}", "{c: d}"}[random.IntN(3)])
}
