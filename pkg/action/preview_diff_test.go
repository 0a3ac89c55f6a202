// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/redact"
)

func objectFrom(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}

// TestDiffOf has what a diff shows, and what it must not.
func TestDiffOf(t *testing.T) {
	masker := redact.New([]string{"hunter2222", "swordfish"})
	for _, tt := range []struct {
		name, before, after string
		// want are the lines that differ, in their order.
		want string
	}{
		{
			"what the server keeps for itself",
			"{kind: A, metadata: {name: a, uid: 1, resourceVersion: '1', generation: 1, creationTimestamp: x, managedFields: [], selfLink: x}, spec: {a: 1, b: 2}, status: {a: 1}}",
			"{kind: A, metadata: {name: a, uid: 2, resourceVersion: '2', generation: 2, creationTimestamp: y, managedFields: [x]}, spec: {a: 2, b: 2}, status: {a: 2}}",
			"-  a: 1\n+  a: 2",
		},
		{"nothing", "{kind: A, metadata: {uid: 1}}", "{kind: A, metadata: {uid: 2}}", ""},
		{
			"a Secret", "{apiVersion: v1, kind: Secret, data: {a: MQ==, b: Mg==, c: Mw==}}", "{apiVersion: v1, kind: Secret, data: {a: MQ==, b: NA==, d: NQ==}}",
			"-  b: '***'\n-  c: '***'\n+  b: '*** (changed)'\n+  d: '***'",
		},
		{
			"a copy of a Secret that kubectl has made",
			"{apiVersion: v1, kind: Secret, metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: one}}}",
			"{apiVersion: v1, kind: Secret, metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: two}}}",
			"-    kubectl.kubernetes.io/last-applied-configuration: '***'\n+    kubectl.kubernetes.io/last-applied-configuration: '*** (changed)'",
		},
		{
			"a Secret of another group", "{apiVersion: example.com/v1, kind: Secret, data: {a: x}}", "{apiVersion: example.com/v1, kind: Secret, data: {a: z}}",
			"-  a: x\n+  a: z",
		},
		{
			"secret texts elsewhere", "{kind: A, list: [a, {url: 'http://hunter2222@db'}], map: {hunter2222: 1}}", "{kind: A, list: [a, {url: 'http://swordfish@db'}, swordfish], map: {swordfish: 1}}",
			"-- url: http://******@db\n+- url: http://******@db (changed)\n+- '******'",
		},
		{
			"other types", "{kind: A, a: hunter2222, b: [hunter2222], c: {d: hunter2222}, e: 1}", "{kind: A, a: [swordfish], b: {x: swordfish}, c: swordfish, e: swordfish}",
			"-a: '******'\n+a:\n+- '******'\n-- '******'\n-c:\n-  d: '******'\n-e: 1\n+  x: '******'\n+c: '******'\n+e: '******'",
		},
		{"a field that goes", "{kind: A, a: {b: 1, c: 2}}", "{kind: A, a: {b: 1}}", "-  c: 2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			diff, err := diffOf(objectFrom(t, tt.before), objectFrom(t, tt.after), masker)
			if err != nil {
				t.Fatal(err)
			}
			var lines []string
			for line := range strings.Lines(diff) {
				if strings.HasPrefix(line, "-") || strings.HasPrefix(line, "+") {
					lines = append(lines, strings.TrimSuffix(line, "\n"))
				}
			}
			got := ""
			if len(lines) > 2 {
				got = strings.Join(lines[2:], "\n")
			}
			if got != tt.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, tt.want)
			}
		})
	}
}

// TestNodePortsOfDryRuns passes over what only a dry run says.
func TestNodePortsOfDryRuns(t *testing.T) {
	service := func(ports string) *unstructured.Unstructured {
		return objectFrom(t, "{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {ports: ["+ports+"]}}")
	}
	trial := cluster.Trial{
		Info:     &resource.Info{Mapping: &meta.RESTMapping{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Service"}}},
		Before:   service("{port: 80, nodePort: 30001}"),
		Declared: service("{port: 80}, {port: 81, nodePort: 30002}, {port: 82}"),
		After:    service("{port: 80, nodePort: 30001}, {port: 81, nodePort: 30002}, {port: 82, nodePort: 32769}"),
	}
	diff, err := diffOf(trial.Before, withoutPlaceholders(trial), nil)
	if err != nil || strings.Contains(diff, "32769") || !strings.Contains(diff, "+  - nodePort: (the server chooses it)\n") || !strings.Contains(diff, "+  - nodePort: 30002\n") {
		t.Errorf("%v:\n%s", err, diff)
	}
}

// TestStepsOfRemovalAreOneNode tells what of a node is deleted in several steps.
func TestStepsOfRemovalAreOneNode(t *testing.T) {
	v := previewing{Preview: &Preview{}}
	for _, node := range []string{"shop:b", "shop:b", "shop:none", "shop:a", "shop:b"} {
		n := PreviewNode{Node: node, Objects: []PreviewObject{{Name: "x"}}}
		if node == "shop:none" {
			n.Objects = nil
		}
		v.addRemoved(n)
	}
	var got []string
	for _, n := range v.Removed {
		got = append(got, fmt.Sprint(n.Node, len(n.Objects)))
	}
	if want := "shop:b2 shop:a1 shop:b1"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}
