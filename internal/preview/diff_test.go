// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/objectwriter"
	"github.com/ordered-helm/helm/internal/redact"
)

// parseObject reads an object from YAML.
func parseObject(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	parsed := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &parsed.Object); err != nil {
		t.Fatal(err)
	}
	return parsed
}

// TestDiffOf checks the diff of two objects, and that it does not contain the contents of
// Secrets.
func TestDiffOf(t *testing.T) {
	redactor := redact.New([]string{"hunter2222", "swordfish"})
	for _, tt := range []struct {
		name, before, after string
		// want contains the expected lines of the diff that differ, in order.
		want string
	}{
		{
			"fields that the server maintains",
			"{kind: A, metadata: {name: a, uid: 1, resourceVersion: '1', generation: 1, creationTimestamp: x, managedFields: [], selfLink: x}, spec: {a: 1, b: 2}, status: {a: 1}}",
			"{kind: A, metadata: {name: a, uid: 2, resourceVersion: '2', generation: 2, creationTimestamp: y, managedFields: [x]}, spec: {a: 2, b: 2}, status: {a: 2}}",
			"-  a: 1\n+  a: 2",
		},
		{"no difference", "{kind: A, metadata: {uid: 1}}", "{kind: A, metadata: {uid: 2}}", ""},
		{
			"a Secret", "{apiVersion: v1, kind: Secret, data: {a: MQ==, b: Mg==, c: Mw==}}", "{apiVersion: v1, kind: Secret, data: {a: MQ==, b: NA==, d: NQ==}}",
			"-  b: '***'\n-  c: '***'\n+  b: '*** (changed)'\n+  d: '***'",
		},
		{
			"last-applied configuration of a Secret",
			"{apiVersion: v1, kind: Secret, metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: one}}}",
			"{apiVersion: v1, kind: Secret, metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: two}}}",
			"-    kubectl.kubernetes.io/last-applied-configuration: '***'\n+    kubectl.kubernetes.io/last-applied-configuration: '*** (changed)'",
		},
		{
			"a Secret of another group", "{apiVersion: example.com/v1, kind: Secret, data: {a: x}}", "{apiVersion: example.com/v1, kind: Secret, data: {a: z}}",
			"-  a: x\n+  a: z",
		},
		{
			"contents of Secrets in another object", "{kind: A, list: [a, {url: 'http://hunter2222@db'}], map: {hunter2222: 1}}", "{kind: A, list: [a, {url: 'http://swordfish@db'}, swordfish], map: {swordfish: 1}}",
			"-- url: http://******@db\n+- url: http://******@db (changed)\n+- '******'",
		},
		{
			"other types", "{kind: A, a: hunter2222, b: [hunter2222], c: {d: hunter2222}, e: 1}", "{kind: A, a: [swordfish], b: {x: swordfish}, c: swordfish, e: swordfish}",
			"-a: '******'\n+a:\n+- '******'\n-- '******'\n-c:\n-  d: '******'\n-e: 1\n+  x: '******'\n+c: '******'\n+e: '******'",
		},
		{"a removed field", "{kind: A, a: {b: 1, c: 2}}", "{kind: A, a: {b: 1}}", "-  c: 2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			live, planned, err := textsOf(parseObject(t, tt.before), parseObject(t, tt.after), redactor)
			if err != nil {
				t.Fatal(err)
			}
			diff := unifiedDiff(live, planned, defaultContext)
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

// TestDiffOfNodePorts checks that the diff omits node ports that the server only chooses
// for the dry run.
func TestDiffOfNodePorts(t *testing.T) {
	service := func(ports string) *unstructured.Unstructured {
		return parseObject(t, "{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {ports: ["+ports+"]}}")
	}
	dryRun := objectwriter.DryRunResult{
		Info: &object.Info{
			Mapping: &meta.RESTMapping{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Service"}},
			Object:  service("{port: 80}, {port: 81, nodePort: 30002}, {port: 82}"),
		},
		Before: service("{port: 80, nodePort: 30001}"),
		After:  service("{port: 80, nodePort: 30001}, {port: 81, nodePort: 30002}, {port: 82, nodePort: 32769}"),
	}
	live, planned, err := textsOf(dryRun.Before, withoutAssignedPorts(dryRun), nil)
	diff := unifiedDiff(live, planned, defaultContext)
	if err != nil || strings.Contains(diff, "32769") || !strings.Contains(diff, "+  - nodePort: (assigned by the server)\n") || !strings.Contains(diff, "+  - nodePort: 30002\n") {
		t.Errorf("%v:\n%s", err, diff)
	}
}
