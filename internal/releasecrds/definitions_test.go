// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releasecrds

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/release"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/releaseapi"
)

// decoded returns the definitions by name. It rejects unknown fields.
func decoded(t *testing.T) map[string]*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	all := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, name := range Names() {
		data, err := files.ReadFile("definitions/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(data, crd); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all[name] = crd
	}
	return all
}

func TestDefinitions(t *testing.T) {
	kinds := map[string][3]string{
		"releases.helm.sh":        {releaseapi.ReleaseKind, releaseapi.ReleaseResource, "hrel"},
		"releaseversions.helm.sh": {releaseapi.ReleaseVersionKind, releaseapi.ReleaseVersionResource, "hrelv"},
	}
	all := decoded(t)
	if len(all) != len(kinds) {
		t.Errorf("got %d definitions", len(all))
	}
	for name, want := range kinds {
		crd := all[name]
		if crd == nil || crd.Name != name || crd.Spec.Group != releaseapi.Group || crd.Spec.Scope != apiextensionsv1.NamespaceScoped {
			t.Fatalf("%s: got %+v", name, crd)
		}
		if n := crd.Spec.Names; n.Kind != want[0] || n.Plural != want[1] || !slices.Equal(n.ShortNames, []string{want[2]}) {
			t.Errorf("%s: got the names %+v", name, n)
		}
		if version, isOurs := versionOf(crd); !isOurs || version != releaseapi.DefinitionsVersion {
			t.Errorf("%s: got version %d, %v, want %d", name, version, isOurs, releaseapi.DefinitionsVersion)
		}
		if len(crd.Spec.Versions) != 1 || crd.Spec.Versions[0].Name != releaseapi.Version || crd.Spec.Versions[0].Subresources != nil {
			t.Errorf("%s: got versions %+v", name, crd.Spec.Versions)
		}
		if crd.Annotations["helm.sh/resource-policy"] != "keep" {
			t.Errorf("%s: a chart would delete it", name)
		}
	}
}

// TestSchemasMatchTypes checks that the schemas have exactly the fields of the Go types, with
// the same types, that fields that Go always writes and no others are required, and that all
// fields have descriptions.
func TestSchemasMatchTypes(t *testing.T) {
	all := decoded(t)
	for name, typ := range map[string]reflect.Type{
		"releases.helm.sh": reflect.TypeFor[releaseapi.Release](), "releaseversions.helm.sh": reflect.TypeFor[releaseapi.ReleaseVersion](),
	} {
		schema := all[name].Spec.Versions[0].Schema.OpenAPIV3Schema
		for _, field := range []string{"apiVersion", "kind", "metadata"} {
			if _, found := schema.Properties[field]; !found {
				t.Errorf("%s: %s is missing", name, field)
			}
			delete(schema.Properties, field)
		}
		compare(t, name, typ, *schema)
	}
}

// compare compares a Go type with a schema. path is the field.
func compare(t *testing.T, path string, typ reflect.Type, schema apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	if schema.XPreserveUnknownFields != nil {
		t.Errorf("%s: unknown fields are stored", path)
	}
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	want := map[reflect.Kind]string{
		reflect.Struct: "object", reflect.Map: "object", reflect.Slice: "array", reflect.String: "string", reflect.Int64: "integer", reflect.Bool: "boolean",
	}[typ.Kind()]
	isTime := typ == reflect.TypeFor[time.Time]() || typ == reflect.TypeFor[metav1.Time]()
	if isTime {
		want = "string"
	}
	if schema.Type != want || (schema.Format == "date-time") != isTime || (schema.Format == "int64") != (want == "integer") {
		t.Errorf("%s: the schema has the type %s %s, want %s", path, schema.Type, schema.Format, want)
	}
	switch {
	case isTime:
	case typ.Kind() == reflect.Struct:
		compareFields(t, path, typ, schema)
	case typ.Kind() == reflect.Map:
		compare(t, path+".*", typ.Elem(), *schema.AdditionalProperties.Schema)
	case typ.Kind() == reflect.Slice:
		compare(t, path+"[]", typ.Elem(), *schema.Items.Schema)
	case typ == reflect.TypeFor[release.Status]():
		compareEnum(t, path, schema, release.StatusUnknown, release.StatusDeployed, release.StatusUninstalled, release.StatusSuperseded, release.StatusFailed,
			release.StatusUninstalling, release.StatusPendingInstall, release.StatusPendingUpgrade, release.StatusPendingRollback)
	case typ == reflect.TypeFor[release.HookPhase]():
		compareEnum(t, path, schema, release.HookPhaseUnknown, release.HookPhaseRunning, release.HookPhaseSucceeded, release.HookPhaseFailed)
	}
}

func compareFields(t *testing.T, path string, typ reflect.Type, schema apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	var fields, required []string
	for field := range typ.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" || field.Anonymous {
			continue
		}
		fields = append(fields, name)
		if !strings.Contains(options, "omit") {
			required = append(required, name)
		}
		property, found := schema.Properties[name]
		if !found {
			t.Errorf("%s.%s is not in the schema", path, name)
			continue
		}
		if property.Description == "" {
			t.Errorf("%s.%s has no description", path, name)
		}
		compare(t, path+"."+name, field.Type, property)
	}
	for name := range schema.Properties {
		if !slices.Contains(fields, name) {
			t.Errorf("%s.%s is not in the Go type", path, name)
		}
	}
	slices.Sort(required)
	slices.Sort(schema.Required)
	if !slices.Equal(required, schema.Required) {
		t.Errorf("%s: the schema requires %q, want %q", path, schema.Required, required)
	}
}

func compareEnum[T ~string](t *testing.T, path string, schema apiextensionsv1.JSONSchemaProps, want ...T) {
	t.Helper()
	var got []T
	for _, entry := range schema.Enum {
		var value T
		if err := json.Unmarshal(entry.Raw, &value); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		got = append(got, value)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s: the schema allows %q, want %q", path, got, want)
	}
}

func TestDescriptionLength(t *testing.T) {
	for name, crd := range decoded(t) {
		status := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"]
		if got := status.Properties["description"].MaxLength; got == nil || *got != releaseapi.MaxDescriptionLength {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestIsDefinition(t *testing.T) {
	for _, tt := range []struct {
		apiVersion, kind, name string
		want                   bool
	}{
		{"apiextensions.k8s.io/v1", "CustomResourceDefinition", "releases.helm.sh", true},
		{"apiextensions.k8s.io/v1beta1", "CustomResourceDefinition", "releaseversions.helm.sh", true},
		{"apiextensions.k8s.io/v1", "CustomResourceDefinition", "charts.helm.sh", false},
		{"example.com/v1", "CustomResourceDefinition", "releases.helm.sh", false},
		{"v1", "ConfigMap", "releases.helm.sh", false},
	} {
		if got := IsDefinition(tt.apiVersion, tt.kind, tt.name); got != tt.want {
			t.Errorf("%+v: got %v", tt, got)
		}
	}
}

func TestYAML(t *testing.T) {
	all, err := YAML()
	if err != nil {
		t.Fatal(err)
	}
	if documents := strings.Split(string(all), "---\n"); len(documents) != 1+len(Names()) || documents[0] != "" {
		t.Errorf("got %d documents", len(documents))
	}
}

// TestChart checks that the chart renders the definitions as they are, and the roles unless a
// value disables them.
func TestChart(t *testing.T) {
	dir := t.TempDir()
	for range 2 { // the second time, the chart is overwritten
		if err := WriteChart(dir); err != nil {
			t.Fatal(err)
		}
	}
	ch, err := loader.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := ch.Validate(); err != nil {
		t.Error(err)
	}
	if major, _, _ := strings.Cut(ch.Metadata.Version, "."); major != strconv.Itoa(releaseapi.DefinitionsVersion) {
		t.Errorf("version %s of the chart does not begin with that of the definitions", ch.Metadata.Version)
	}
	for _, withRoles := range []bool{true, false} {
		values, err := chartutil.ToRenderValues(ch, map[string]any{"roles": map[string]any{"create": withRoles}}, chartutil.ReleaseOptions{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		rendered, err := engine.Render(ch, values)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range Names() {
			want, err := files.ReadFile("definitions/" + name + ".yaml")
			if got := rendered["helm-state/templates/"+name+".yaml"]; err != nil || got != string(want) {
				t.Errorf("%s: got %s, %v", name, got, err)
			}
		}
		for _, role := range []string{"viewer", "deployer"} {
			if got := rendered["helm-state/templates/"+role+".yaml"]; strings.Contains(got, "kind: ClusterRole") != withRoles {
				t.Errorf("%s: got %s", role, got)
			}
		}
	}
}

func TestWriteChartToOtherDirectory(t *testing.T) {
	for name, write := range map[string]func(t *testing.T, dir string){
		"other chart":   func(t *testing.T, dir string) { t.Helper(); writeFile(t, dir, "Chart.yaml", "name: shop\n") },
		"invalid chart": func(t *testing.T, dir string) { t.Helper(); writeFile(t, dir, "Chart.yaml", "]") },
		"other file":    func(t *testing.T, dir string) { t.Helper(); writeFile(t, dir, "README.md", "x") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir)
			if err := WriteChart(dir); err == nil || !strings.Contains(err.Error(), "use another directory") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func writeFile(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
