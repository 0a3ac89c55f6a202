// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordered-helm/helm/internal/fakeapi"
)

// TestStoresSame checks which differences between a declaration and an object matter.
func TestStoresSame(t *testing.T) {
	pod := func(spec string) string {
		return "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {" + spec + "}}"
	}
	resources := func(cpu string) string {
		return pod("containers: [{name: c, resources: {limits: {cpu: " + cpu + "}}}]")
	}
	for name, tt := range map[string]struct {
		target, live string
		same         bool
	}{
		"a quantity":             {resources("1000m"), resources(`"1"`), true},
		"another quantity":       {resources("1001m"), resources(`"1"`), false},
		"an empty value":         {pod("hostNetwork: false, tolerations: [], nodeSelector: {}, nodeName: ''"), pod("dnsPolicy: Default"), true},
		"a value":                {pod("hostNetwork: true"), pod("dnsPolicy: Default"), false},
		"text like a quantity":   {fakeapi.ConfigMap("a", "x: 1000m"), fakeapi.ConfigMap("a", `x: "1"`), false},
		"stringData":             {"{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {a: b}}", "{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: Yg==, c: ''}}", true},
		"other stringData":       {"{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {a: c}}", "{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: Yg==}}", false},
		"metadata of the server": {strings.Replace(pod("nodeName: node1"), "name: p", "name: p, creationTimestamp: null, uid: u", 1), pod("nodeName: node1"), true},
		"other metadata":         {strings.Replace(pod("nodeName: node1"), "name: p", "name: p, labels: {a: b}", 1), pod("nodeName: node1"), false},
		"an unknown field":       {pod("fieldOfALaterVersion: 1"), pod("fieldOfALaterVersion: 2"), false},
		"a custom resource":      {widget("x: 1"), widget("x: 2"), false},
		"its metadata":           {strings.Replace(widget("x: 1"), "name: one", "name: one, uid: u", 1), widget("x: 1"), true},
	} {
		t.Run(name, func(t *testing.T) {
			target, live := fakeapi.Info(t, tt.target), fakeapi.Info(t, tt.live).Object.(*unstructured.Unstructured)
			live.SetUID("there")
			live.SetCreationTimestamp(metav1.Unix(1, 0))
			p, err := Compute(target, target.Object, live, true)
			if err != nil || p.IsEmpty() {
				t.Fatalf("the patch is %q, %v", p.Data, err)
			}
			if got := p.StoresSame(target, live); got != tt.same {
				t.Errorf("%s stores the same: %v", p.Data, got)
			}
		})
	}
}

func TestWithResourceVersion(t *testing.T) {
	live := fakeapi.Info(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, resourceVersion: '7'}}").Object.(*unstructured.Unstructured)
	for data, want := range map[string]string{
		`{"spec":{"large":9007199254740993}}`:         `{"metadata":{"resourceVersion":"7"},"spec":{"large":9007199254740993}}`,
		`{"metadata":{"labels":{"a":null}},"x":null}`: `{"metadata":{"labels":{"a":null},"resourceVersion":"7"},"x":null}`,
	} {
		p, err := Patch{types.MergePatchType, []byte(data)}.WithResourceVersion(live)
		if err != nil || p.Type != types.MergePatchType || string(p.Data) != want {
			t.Errorf("got %s %s, %v, want %s", p.Type, p.Data, err, want)
		}
	}
}
