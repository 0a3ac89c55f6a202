// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package crds

import (
	"fmt"
	"os"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/fakeapi"
	"github.com/ordered-helm/helm/internal/object"
)

// TestMain registers the types of CRDs, as Helm's Kubernetes client does.
func TestMain(m *testing.M) {
	if err := apiextensionsv1.AddToScheme(scheme.Scheme); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// widgets is a CRD as a chart declares it.
const widgets = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com}, spec: {
	group: example.com, scope: Namespaced, names: {kind: Widget, plural: widgets, shortNames: [w]},
	versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {size: {type: integer, maximum: 5}}}}}]}}`

// stored contains what the API server adds to widgets.
const stored = `{metadata: {uid: a, generation: 1, creationTimestamp: "2020-01-01T00:00:00Z"}, spec: {
	names: {singular: widget, listKind: WidgetList}, conversion: {strategy: None}}, status: {storedVersions: [v1],
	acceptedNames: {kind: Widget, plural: widgets}, conditions: [{type: NamesAccepted, status: "True"}, {type: Established, status: "True"}]}}`

// variant returns a manifest with changes, each a JSON merge patch in YAML.
func variant(tb testing.TB, manifest string, changes ...string) string {
	tb.Helper()
	result, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		tb.Fatal(err)
	}
	for _, change := range changes {
		patch, err := yaml.YAMLToJSON([]byte("{" + change + "}"))
		if err != nil {
			tb.Fatal(err)
		}
		if result, err = jsonpatch.MergePatch(result, patch); err != nil {
			tb.Fatal(err)
		}
	}
	return string(result)
}

// liveVariant returns widgets as it is in the cluster, with a change.
func liveVariant(tb testing.TB, change string) string {
	tb.Helper()
	return variant(tb, widgets, stored[1:len(stored)-1], change)
}

// declaredVariant returns the result of declared for widgets with a change.
func declaredVariant(tb testing.TB, change string) *object.Info {
	tb.Helper()
	info, err := declared(fakeapi.Info(tb, variant(tb, widgets, change)))
	if err != nil {
		tb.Fatal(err)
	}
	return info
}

func parsed(tb testing.TB, manifest string) *unstructured.Unstructured {
	tb.Helper()
	return fakeapi.Object(tb, manifest)
}
