// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package definitions

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/cluster"
	"github.com/ordered-helm/helm/test/harness"
)

// Versions of definitions.
const (
	v1Size  = "{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {size: {type: integer}}}}}"
	v1Color = "{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {size: {type: integer}, color: {type: string}}}}}"
	v2Color = "{name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {size: {type: integer}, color: {type: string}}}}}"
)

// modes are the flags with which operations follow an order, and with which they do not.
var modes = map[string][]string{"without an order": nil, "in order": {"--wait=ordered"}}

// world is a namespace with definitions whose group is named after it.
type world struct {
	*harness.Helm
	group string
}

func newWorld(tb testing.TB) *world {
	tb.Helper()
	h := harness.New(tb)
	return &world{h, h.Namespace + ".example"}
}

// definition returns the manifest of the definition of a kind, such as Gadget, with versions. It
// is deleted at the end of the test. more contains pairs of texts to replace in the manifest.
func (w *world) definition(tb testing.TB, kind string, versions []string, more ...string) string {
	tb.Helper()
	plural := strings.ToLower(kind) + "s"
	text := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: " + plural + "." + w.group + "}\nspec:\n  group: " + w.group +
		"\n  scope: Namespaced\n  names: {kind: " + kind + ", plural: " + plural + "}\n  versions:\n  - " + strings.Join(versions, "\n  - ") + "\n"
	w.DeleteAfter(tb, harness.ParseManifest(tb, text))
	return strings.NewReplacer(more...).Replace(text)
}

// gadgets returns the definition of Gadgets.
func (w *world) gadgets(tb testing.TB, versions ...string) string {
	tb.Helper()
	return w.definition(tb, "Gadget", versions)
}

// gadget returns the manifest of a Gadget named one, with additional fields.
func (w *world) gadget(version, fields string) string {
	return "apiVersion: " + w.group + "/" + version + "\nkind: Gadget\nmetadata: {name: one}\n" + fields + "\n"
}

// chart writes a chart with a template, and with the definitions in its crds/ directory.
func chart(tb testing.TB, template string, definitions ...string) string {
	tb.Helper()
	files := map[string]string{"Chart.yaml": "apiVersion: v3\nname: defining\nversion: 0.1.0\n", "templates/all.yaml": template}
	for i, text := range definitions {
		files["crds/"+string(rune('a'+i))+".yaml"] = text
	}
	return charts.WriteFiles(tb, files)
}

// get returns the definition with a plural name, or nil if it does not exist.
func (w *world) get(tb testing.TB, plural string) *unstructured.Unstructured {
	tb.Helper()
	list, err := w.Resource("apiextensions.k8s.io/v1", "CustomResourceDefinition").
		List(tb.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + plural + "." + w.group})
	harness.NoError(tb, err)
	if len(list.Items) == 0 {
		return nil
	}
	return &list.Items[0]
}

// versionsOf returns the names of the versions of a definition; empty if it does not exist.
func (w *world) versionsOf(tb testing.TB, plural string) string {
	tb.Helper()
	crd := w.get(tb, plural)
	if crd == nil {
		return ""
	}
	entries, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	var names []string
	for _, entry := range entries {
		names = append(names, entry.(map[string]any)["name"].(string)) //nolint:forcetypeassert // the server requires them
	}
	return strings.Join(names, " ")
}

// color returns the color of the Gadget named one.
func (w *world) color(tb testing.TB, version string) string {
	tb.Helper()
	gadget, err := w.Client.Resource(schema.GroupVersionResource{Group: w.group, Version: version, Resource: "gadgets"}).
		Namespace(w.Namespace).Get(tb.Context(), "one", metav1.GetOptions{})
	harness.NoError(tb, err)
	color, _, _ := unstructured.NestedString(gadget.Object, "color")
	return color
}

// patch changes the definition of Gadgets as another client would.
func (w *world) patch(tb testing.TB, patch string, subresources ...string) {
	tb.Helper()
	api := w.Resource("apiextensions.k8s.io/v1", "CustomResourceDefinition")
	harness.NoError(tb, harness.MergePatch(tb.Context(), api, "gadgets."+w.group, patch, subresources...))
}

// requests returns the requests of Helm for definitions since a time.
func (w *world) requests(tb testing.TB, from time.Time) []string {
	tb.Helper()
	var list []string
	for _, e := range w.Cluster.Audit(tb) {
		if e.Resource == "customresourcedefinitions" && strings.HasPrefix(e.UserAgent, "Helm/") && !e.Received.Before(from) && e.Stage == cluster.StageComplete {
			list = append(list, e.Verb)
		}
	}
	return list
}
