// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/fakeapi"
)

// TestDeclaration checks which fields are not compared with the cluster.
//   - "the replicas that an autoscaler has set"
func TestDeclaration(t *testing.T) {
	managed := func(manager, operation, subresource, fields string) string {
		return fmt.Sprintf("{manager: %s, operation: %s, subresource: %q, fieldsType: FieldsV1, fieldsV1: %s}", manager, operation, subresource, fields)
	}
	const replicas = `{"f:spec":{"f:replicas":{}}}`
	for name, tt := range map[string]struct{ managed, declared, want string }{
		"nothing":                   {"", "spec: {replicas: 1, paused: true}", "map[paused:true replicas:1]"},
		"status":                    {"", "spec: {replicas: 1}, status: {replicas: 1}", "map[replicas:1]"},
		"an autoscaler":             {managed("kube-controller-manager", "Update", "scale", replicas), "spec: {replicas: 1, paused: true}", "map[paused:true]"},
		"no declared replicas":      {managed("kube-controller-manager", "Update", "scale", replicas), "spec: {paused: true}", "map[paused:true]"},
		"no declared spec":          {managed("kube-controller-manager", "Update", "scale", replicas), "data: {}", "<nil>"},
		"another client":            {managed("kubectl", "Update", "scale", replicas), "spec: {replicas: 1}", "map[replicas:1]"},
		"another subresource":       {managed("kube-controller-manager", "Update", "status", replicas), "spec: {replicas: 1}", "map[replicas:1]"},
		"another field":             {managed("kube-controller-manager", "Update", "scale", `{"f:spec":{".":{}}}`), "spec: {replicas: 1}", "map[replicas:1]"},
		"replicas of another field": {managed("kube-controller-manager", "Update", "scale", `{"f:spec":{"f:size":{"f:min":{}}}}`), "spec: {size: {min: 1, max: 2}}", "map[size:map[max:2]]"},
	} {
		t.Run(name, func(t *testing.T) {
			text := "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d%s}, %s}"
			live := fakeapi.Object(t, fmt.Sprintf(text, ", managedFields: ["+tt.managed+"]", "spec: {}"))
			info, unchanged := fakeapi.Info(t, fmt.Sprintf(text, "", tt.declared)), fakeapi.Info(t, fmt.Sprintf(text, "", tt.declared))
			declared, err := Declaration(info, live)
			if err != nil {
				t.Fatal(err)
			}
			content := declared.Object.(*unstructured.Unstructured).Object
			if got := fmt.Sprint(content["spec"]); got != tt.want || content["status"] != nil {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if fmt.Sprint(info.Object) != fmt.Sprint(unchanged.Object) {
				t.Errorf("the declaration itself was changed to %v", info.Object)
			}
		})
	}
}

// TestCABundles checks that the CA bundles which controllers inject are not compared.
//   - "the CA bundles of webhooks, CRDs and APIServices"
func TestCABundles(t *testing.T) {
	for kind, tt := range map[string]struct{ declared, want string }{
		"admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration": {"webhooks: [{name: a, clientConfig: {caBundle: eA==, url: b}}, {name: c}]", "map[webhooks:[map[clientConfig:map[url:b] name:a] map[name:c]]]"},
		"admissionregistration.k8s.io/v1 MutatingWebhookConfiguration":   {"webhooks: [{clientConfig: {caBundle: eA==}}]", "map[webhooks:[map[clientConfig:map[]]]]"},
		"apiextensions.k8s.io/v1 CustomResourceDefinition":               {"spec: {conversion: {webhook: {clientConfig: {caBundle: eA==, url: b}}}}", "map[spec:map[conversion:map[webhook:map[clientConfig:map[url:b]]]]]"},
		"apiregistration.k8s.io/v1 APIService":                           {"spec: {caBundle: eA==, group: a}", "map[spec:map[group:a]]"},
		"example.com/v1 APIService":                                      {"spec: {caBundle: eA==}", "map[spec:map[caBundle:eA==]]"},
	} {
		apiVersion, name, _ := strings.Cut(kind, " ")
		info := fakeapi.Info(t, fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: d}, %s}", apiVersion, name, tt.declared))
		declared, err := Declaration(info, &unstructured.Unstructured{Object: map[string]any{}})
		if err != nil {
			t.Fatal(err)
		}
		content := maps.Clone(declared.Object.(*unstructured.Unstructured).Object)
		for _, field := range []string{"apiVersion", "kind", "metadata"} {
			delete(content, field)
		}
		if got := fmt.Sprint(content); got != tt.want {
			t.Errorf("%s: got %s, want %s", kind, got, tt.want)
		}
	}
}
