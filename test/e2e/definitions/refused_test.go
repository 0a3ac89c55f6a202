// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package definitions

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/releasecrds"
	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// expectRefused checks that an upgrade of the release with --crds=apply fails before it changes
// anything: neither the definition of Gadgets nor, although it could be created, that of Gizmos.
func (w *world) expectRefused(t *testing.T, dir, want string, flags ...string) {
	t.Helper()
	before, statuses := w.get(t, "gadgets"), w.Statuses(t, "rel")
	w.ExpectFailure(t, append([]string{"upgrade", "rel", dir, "--crds=apply"}, flags...), "nothing was changed", want)
	w.ExpectStatuses(t, "rel", statuses)
	// The API server may set the status of a new definition only now.
	if after := w.get(t, "gadgets"); after == nil || !reflect.DeepEqual(object.WithoutServerFields(before.Object), object.WithoutServerFields(after.Object)) {
		t.Errorf("the definition was changed to %v", after)
	}
	if got := w.versionsOf(t, "gizmos"); got != "" {
		t.Errorf("another definition was created, with the versions %s", got)
	}
}

// TestRefusedChanges checks what cannot be changed in a definition.
//   - "If one of the definitions must not be changed, or the server rejects it, none is changed, and the operation fails before it has changed anything"
//   - "spec.group, spec.scope and the names in spec.names (kind, plural, singular, listKind) cannot be changed"
func TestRefusedChanges(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		versions []string
		replace  []string
		want     string
	}{
		{"stored version", []string{strings.Replace(v2Color, "storage: false", "storage: true", 1)}, nil, "objects may be stored in version v1, which the chart no longer declares"},
		{"scope", []string{v1Size}, []string{"scope: Namespaced", "scope: Cluster"}, "spec.scope cannot be changed from Namespaced to Cluster"},
		{"kind", []string{v1Size}, []string{"kind: Gadget", "kind: Gidget"}, "spec.names.kind cannot be changed from Gadget to Gidget"},
		{"plural", []string{v1Size}, []string{"plural: gadgets", "plural: gidgets"}, "spec.names.plural cannot be changed from gadgets to gidgets"},
		{"singular", []string{v1Size}, []string{"plural: gadgets", "plural: gadgets, singular: gidget"}, "spec.names.singular cannot be changed from gadget to gidget"},
		{"group", []string{v1Size}, []string{"  group: ", "  group: other."}, "spec.group cannot be changed"},
		{"invalid schema", []string{strings.Replace(v1Size, "integer", "number of things", 1)}, nil, "Unsupported value"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.MustRun("install", "rel", chart(t, w.gadget("v1", "size: 1"), w.gadgets(t, v1Size)))
			next := chart(t, w.gadget("v1", "size: 2"), w.definition(t, "Gizmo", []string{v1Size}), w.definition(t, "Gadget", tt.versions, tt.replace...))
			w.expectRefused(t, next, tt.want)
			w.expectRefused(t, next, tt.want, "--wait=ordered")
		})
	}
}

// TestUnstoredVersion checks that a version can be removed once no object is stored in it.
//   - "a version that is in status.storedVersions cannot be removed"
func TestUnstoredVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.MustRun("install", "rel", chart(t, charts.OwnConfigMap("1"), w.gadgets(t, v1Color, v2Color)))
	onlyV2 := chart(t, charts.OwnConfigMap("2"), w.gadgets(t, strings.Replace(v2Color, "storage: false", "storage: true", 1)))
	w.expectRefused(t, onlyV2, "remove v1 from status.storedVersions first")
	both := chart(t, charts.OwnConfigMap("2"), w.gadgets(t, strings.Replace(v1Color, "storage: true", "storage: false", 1), strings.Replace(v2Color, "storage: false", "storage: true", 1)))
	w.MustRun("upgrade", "rel", both, "--crds=apply")
	w.patch(t, `{"status":{"storedVersions":["v2"]}}`, "status")
	w.MustRun("upgrade", "rel", onlyV2, "--crds=apply")
	if got := w.versionsOf(t, "gadgets"); got != "v2" {
		t.Errorf("the definition has the versions %s", got)
	}
}

// TestDefinitionOfOtherRelease checks that a definition in the templates of another release is not
// changed, and that it does no harm if it does not differ.
//   - "a definition that belongs to the templates of another release is not changed by this one"
func TestDefinitionOfOtherRelease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.MustRun("install", "operator", chart(t, w.gadgets(t, v1Size)))
	w.MustRun("install", "rel", chart(t, charts.OwnConfigMap("1"), w.gadgets(t, v1Size)), "--crds=apply")
	w.expectRefused(t, chart(t, charts.OwnConfigMap("2"), w.gadgets(t, v1Color)), "it belongs to release operator in namespace "+w.Namespace)
}

// TestMovedFromTemplates checks that a definition that is moved from the templates to crds/ is not
// deleted with its objects because it is no longer in the templates.
//   - "If it belongs to the templates of the same release, it is refused even if it does not differ"
func TestMovedFromTemplates(t *testing.T) {
	t.Parallel()
	for name, flags := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.MustRun("install", "rel", chart(t, w.gadgets(t, v1Size)))
			uid := w.get(t, "gadgets").GetUID()
			moved := chart(t, charts.OwnConfigMap("1"), w.gadgets(t, v1Size))
			w.expectRefused(t, moved, "annotate it in the cluster with helm.sh/resource-policy=keep first", flags...)
			w.patch(t, `{"metadata":{"annotations":{"helm.sh/resource-policy":"keep"}}}`)
			w.MustRun(append([]string{"upgrade", "rel", moved, "--crds=apply"}, flags...)...)
			if crd := w.get(t, "gadgets"); crd == nil || crd.GetUID() != uid {
				t.Error("the definition was deleted")
			}
		})
	}
}

// TestDefinitionsOfReleasesAreProtected checks that a chart cannot change the definitions with
// which releases are stored.
//   - "are changed only by helm state init"
func TestDefinitionsOfReleasesAreProtected(t *testing.T) {
	w := newWorld(t)
	harness.InstallDefinitions(t, w.Cluster)
	dir := filepath.Join(t.TempDir(), "helm-state")
	w.MustRun("state", "init", "--chart", dir)
	var unchanged, changed []string
	for _, name := range releasecrds.Names() {
		text, err := os.ReadFile(filepath.Join(dir, "templates", name+".yaml"))
		harness.NoError(t, err)
		unchanged = append(unchanged, string(text))
		changed = append(changed, strings.Replace(string(text), "served: true", "served: false", 1))
	}
	versions := func() (list []string) {
		for _, name := range releasecrds.Names() {
			crd, err := w.Resource("apiextensions.k8s.io/v1", "CustomResourceDefinition").Get(t.Context(), name, metav1.GetOptions{})
			harness.NoError(t, err)
			list = append(list, crd.GetResourceVersion())
		}
		return list
	}
	before := strings.Join(versions(), " ")
	w.MustRun("install", "rel", chart(t, charts.OwnConfigMap("1"), unchanged...), "--crds=apply")
	w.ExpectFailure(t, []string{"upgrade", "rel", chart(t, charts.OwnConfigMap("2"), changed...), "--crds=apply"}, `only "helm state init" changes it`, "nothing was changed")
	if after := strings.Join(versions(), " "); after != before {
		t.Errorf("the definitions have the resource versions %s, want %s", after, before)
	}
}
