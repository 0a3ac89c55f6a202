// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"math/rand/v2"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordered-helm/helm/internal/fakeapi"
)

// deployment returns a Deployment with one container. env contains the items of the YAML list
// of its environment variables.
func deployment(name, env string) string {
	return "{apiVersion: apps/v1, kind: Deployment, metadata: {name: " + name + "}, " +
		"spec: {template: {spec: {containers: [{name: main, env: [" + env + "]}]}}}}"
}

// widget returns a custom resource.
func widget(spec string) string {
	return "{apiVersion: example.com/v1, kind: Widget, metadata: {name: one}, spec: {" + spec + "}}"
}

func TestCompute(t *testing.T) {
	crd := func(version, group string) string {
		return "{apiVersion: apiextensions.k8s.io/" + version + ", kind: CustomResourceDefinition, metadata: {name: x}, spec: {group: " + group + "}}"
	}
	for _, c := range []struct {
		name               string
		base, target, live string
		threeWay           bool
		kind               types.PatchType
		want, err          string
	}{
		{
			name: "no difference", base: fakeapi.ConfigMap("a", "x: i"), target: fakeapi.ConfigMap("a", "x: i"), live: fakeapi.ConfigMap("a", "x: i, foreign: z"),
		},
		{
			name: "no difference in what matters", base: deployment("a", "{name: A, value: x}"), target: deployment("a", "{name: A, value: x}"),
			live: deployment("a", "{name: A, value: x}, {name: FOREIGN, value: f}"),
		},
		{
			name: "changed by others", base: fakeapi.ConfigMap("a", "x: i"), target: fakeapi.ConfigMap("a", "x: i"), live: fakeapi.ConfigMap("a", "x: ii"),
			kind: types.StrategicMergePatchType, want: `{"data":{"x":"i"}}`,
		},
		{
			name: "lists by key", base: deployment("a", "{name: A, value: x}, {name: B, value: y}"), target: deployment("a", "{name: A, value: z}"),
			live: deployment("a", "{name: A, value: x}, {name: B, value: y}, {name: FOREIGN, value: f}"), kind: types.StrategicMergePatchType,
			want: `{"spec":{"template":{"spec":{"$setElementOrder/containers":[{"name":"main"}],"containers":[{"$setElementOrder/env":[{"name":"A"}],` +
				`"env":[{"name":"A","value":"z"},{"$patch":"delete","name":"B"}],"name":"main"}]}}}}`,
		},
		{
			name: "nothing is removed from what is added", base: deployment("a", "{name: A}, {name: B}"), target: deployment("a", "{name: A}"),
			live: "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {template: {spec: {containers: []}}}}", kind: types.StrategicMergePatchType,
			want: `{"spec":{"template":{"spec":{"containers":[{"env":[{"name":"A"}],"name":"main"}]}}}}`,
		},
		{
			name: "values of lists", kind: types.StrategicMergePatchType, want: `{"metadata":{"$deleteFromPrimitiveList/finalizers":["w"],"$setElementOrder/finalizers":["x"]}}`,
			base:   "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, finalizers: [x, gone, w]}}",
			target: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, finalizers: [x]}}",
			live:   "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, finalizers: [x, w, foreign]}}",
		},
		{name: "an item without its key", base: deployment("a", "{name: A}"), target: deployment("a", "{value: x}"), live: deployment("a", "{name: A}"), err: "does not contain declared merge key: name"},
		{name: "a definition", base: crd("v1", "a"), target: crd("v1", "b"), live: crd("v1", "a"), kind: types.StrategicMergePatchType, want: `{"spec":{"group":"b"}}`},
		{name: "an old definition", base: crd("v1beta1", "a"), target: crd("v1beta1", "b"), live: crd("v1beta1", "a"), kind: types.MergePatchType, want: `{"spec":{"group":"b"}}`},
		{name: "custom, changed by others", base: widget("x: 1"), target: widget("x: 1"), live: widget("x: 2")},
		{name: "custom, there already", base: widget("x: 1, w: [1]"), target: widget("x: 2"), live: widget("x: 2, y: 3")},
		{name: "custom, changed by others, three-way", base: widget("x: 1"), target: widget("x: 1"), live: widget("x: 2, y: 3"), threeWay: true, kind: types.MergePatchType, want: `{"spec":{"x":1}}`},
		{name: "custom", base: widget("x: 1, w: 1"), target: widget("x: 2"), live: widget("x: 1, w: 1, z: 1"), kind: types.MergePatchType, want: `{"spec":{"w":null,"x":2}}`},
		{name: "custom, three-way", base: widget("x: 1, w: 1"), target: widget("x: 2"), live: widget("x: 1, w: 1, z: 1"), threeWay: true, kind: types.MergePatchType, want: `{"spec":{"w":null,"x":2}}`},
		{
			name: "custom, of another version", base: widget("x: 1"), target: widget("x: 1"), live: strings.Replace(widget("x: 1"), "/v1", "/v2", 1), threeWay: true,
			err: "precondition failed for: map[apiVersion:example.com/v1]",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			target := fakeapi.Info(t, c.target)
			p, err := Compute(target, fakeapi.Info(t, c.base).Object, fakeapi.Info(t, c.live).Object.(*unstructured.Unstructured), c.threeWay)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got %v, want %q", err, c.err)
				}
				return
			}
			if err != nil || p.Type != c.kind || string(p.Data) != c.want || p.IsEmpty() != (c.want == "" || c.want == emptyPatch) {
				t.Errorf("got %s %s, %v, want %s %s", p.Type, p.Data, err, c.kind, c.want)
			}
		})
	}
}

// TestIsUnchanged checks that the patch from the complete computation changes nothing if
// isUnchanged returns true.
func TestIsUnchanged(t *testing.T) {
	for name, declare := range map[string]func(*rand.Rand, bool) string{"custom": randomWidget, "known": randomDeployment} {
		for _, threeWay := range []bool{false, true} {
			plain := 0
			for seed := range uint64(600) {
				random := rand.New(rand.NewPCG(seed, 2))
				broken := func() bool { return random.IntN(6) == 0 }
				texts := []string{declare(random, false), declare(random, false), declare(random, broken())}
				base := fakeapi.Info(t, texts[random.IntN(2)]).Object.(*unstructured.Unstructured)
				target := fakeapi.Info(t, texts[random.IntN(3)])
				live := fakeapi.Info(t, texts[random.IntN(2)]).Object.(*unstructured.Unstructured)
				live.SetUID("there")
				p, err := compute(target, base, live, threeWay) // must not panic
				if !isUnchanged(base, target.Object, live) {
					continue
				}
				plain++
				if err != nil {
					t.Fatalf("%s, seed %d: %v", name, seed, err)
				}
				h := &objectHistory{T: t, live: live}
				if got, want := canonical(h.patched(p)), canonical(live); got != want {
					t.Fatalf("%s, seed %d: %s makes\n%s\nof\n%s", name, seed, p.Data, got, want)
				}
			}
			if plain < 60 {
				t.Errorf("%s: only %d cases say anything", name, plain)
			}
		}
	}
}
