// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartformat

import (
	"maps"
	"os"
	"slices"
	"testing"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// TestDefinitionHasFields checks that the definition of the kind Chart has the fields of the
// format. That an API server rejects invalid charts is checked by TestChartKind in
// test/e2e/interop.
func TestDefinitionHasFields(t *testing.T) {
	text, err := os.ReadFile("../../docs/crds/charts.helm.sh.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var definition apiextensions.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &definition); err != nil {
		t.Fatal(err)
	}
	top := definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
	data := top["data"].Properties
	item := func(field string) map[string]apiextensions.JSONSchemaProps {
		return data[field].Items.Schema.Properties
	}
	for _, c := range []struct {
		name   string
		schema map[string]apiextensions.JSONSchemaProps
		fields []string
	}{
		{"top", top, topFields}, {"data", data, dataFields}, {"maintainers", item("maintainers"), maintainerFields},
		{"dependencies", item("dependencies"), dependencyFields}, {"libraries", item("libraries"), libraryFields},
	} {
		if got, want := slices.Sorted(maps.Keys(c.schema)), slices.Sorted(slices.Values(c.fields)); !slices.Equal(got, want) {
			t.Errorf("%s: the definition has %q, the format %q", c.name, got, want)
		}
	}
}
