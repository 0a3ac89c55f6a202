// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package objectid_test

import (
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/objectid"
)

func TestIdentify(t *testing.T) {
	scopes := objectid.Scopes{}
	for _, crd := range []string{
		"{kind: CustomResourceDefinition, spec: {group: example.com, scope: Cluster, names: {kind: Wide}}}",
		"{kind: CustomResourceDefinition, spec: {group: example.com, scope: Namespaced, names: {kind: Namespace}}}",
	} {
		scopes.Add(parse(t, crd))
	}
	for text, want := range map[string]objectid.ID{
		"{apiVersion: v1, kind: Secret, metadata: {name: a}}":                        {Kind: "Secret", Namespace: "release", Name: "a"},
		"{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: b}}": {Group: "apps", Kind: "Deployment", Namespace: "b", Name: "a"},
		"{apiVersion: v1, kind: Namespace, metadata: {name: a, namespace: b}}":       {Kind: "Namespace", Name: "a"},
		"{apiVersion: example.com/v1, kind: Wide, metadata: {name: a}}":              {Group: "example.com", Kind: "Wide", Name: "a"},
		"{apiVersion: example.com/v1, kind: Namespace, metadata: {name: a}}":         {Group: "example.com", Kind: "Namespace", Namespace: "release", Name: "a"},
		"{apiVersion: example.com/v1, kind: Unknown, metadata: {name: a}}":           {Group: "example.com", Kind: "Unknown", Namespace: "release", Name: "a"},
	} {
		if got := scopes.Identify(parse(t, text), "release"); got != want {
			t.Errorf("%s: got %+v, want %+v", text, got, want)
		}
	}
}

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}
