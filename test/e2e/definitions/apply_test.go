// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package definitions

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// TestApplySchema checks that an upgrade changes the schema of a definition before it writes an
// object that needs the new schema: the server would drop its new field otherwise.
//   - "--crds changes this in install, upgrade and plan, with and without --wait=ordered"
//   - "apply | definitions that do not exist are created, and those that differ from the chart are changed"
func TestApplySchema(t *testing.T) {
	t.Parallel()
	for name, flags := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.MustRun("install", "rel", chart(t, w.gadget("v1", "size: 1"), w.gadgets(t, v1Size)))
			r := w.MustRun(append([]string{"upgrade", "rel", chart(t, w.gadget("v1", "color: green"), w.gadgets(t, v1Color)), "--crds=apply"}, flags...)...)
			if got := w.color(t, "v1"); got != "green" {
				t.Errorf("the color is %q", got)
			}
			harness.ExpectContains(t, r.Stderr, "applying 1 CustomResourceDefinition\n", "CustomResourceDefinition/gadgets."+w.group+": changed", "1 CustomResourceDefinition applied, and served by the cluster")
			if first, _, _ := strings.Cut(r.Stderr, "\n"); !strings.Contains(first, "applying 1 CustomResourceDefinition") {
				t.Errorf("the first line is %q", first)
			}
		})
	}
}

// TestApplyVersion checks that an upgrade waits until a new version is served before it renders
// the templates, which may ask for it.
//   - "Definitions are applied before the templates are rendered"
//   - "Then the operation waits until the cluster serves all versions of the new and changed definitions"
func TestApplyVersion(t *testing.T) {
	t.Parallel()
	for name, flags := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.MustRun("install", "rel", chart(t, w.gadget("v1", "size: 1"), w.gadgets(t, v1Size)))
			template := fmt.Sprintf("{{ if not (.Capabilities.APIVersions.Has %q) }}{{ fail \"v2 is missing\" }}{{ end }}\n", w.group+"/v2/Gadget") + w.gadget("v2", "color: green")
			w.MustRun(append([]string{"upgrade", "rel", chart(t, template, w.gadgets(t, v1Color, v2Color)), "--crds=apply"}, flags...)...)
			if got := w.color(t, "v2"); got != "green" {
				t.Errorf("the color is %q", got)
			}
		})
	}
}

// TestApplyInInstall checks that an installation changes a definition that exists.
//   - "--crds changes this in install, upgrade and plan"
//   - "It does not matter who has created the definition"
//   - "Then the operation waits until the cluster serves all versions of the new and changed definitions"
func TestApplyInInstall(t *testing.T) {
	t.Parallel()
	for name, flags := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.Apply(t, w.gadgets(t, v1Size))
			gizmos := w.definition(t, "Gizmo", []string{v1Size})
			template := fmt.Sprintf("{{ if not (.Capabilities.APIVersions.Has %q) }}{{ fail \"v2 is missing\" }}{{ end }}\n", w.group+"/v2/Gadget") + w.gadget("v2", "color: green")
			w.MustRun(append([]string{"install", "rel", chart(t, template, w.gadgets(t, v1Color, v2Color), gizmos), "--crds=apply"}, flags...)...)
			if got, other := w.versionsOf(t, "gadgets"), w.versionsOf(t, "gizmos"); got != "v1 v2" || other != "v1" {
				t.Errorf("the definitions have the versions %q and %q", got, other)
			}
		})
	}
}

// TestForeignFieldsStay checks that apply keeps what others have set in a definition.
//   - "Defaults, the status, and fields that others have set do not count, and are kept"
func TestForeignFieldsStay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.MustRun("install", "rel", chart(t, charts.OwnConfigMap("1"), w.gadgets(t, v1Size)))
	const conversion = `{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"url":"https://gadgets.example"}}}`
	w.patch(t, `{"metadata":{"annotations":{"a":"b"},"labels":{"c":"d"}},"spec":{"conversion":`+conversion+`}}`)
	w.MustRun("upgrade", "rel", chart(t, charts.OwnConfigMap("2"), w.gadgets(t, v1Color)), "--crds=apply")
	crd := w.get(t, "gadgets")
	if crd.GetAnnotations()["a"] != "b" || crd.GetLabels()["c"] != "d" || !strings.Contains(fmt.Sprint(crd.Object), "https://gadgets.example") || !strings.Contains(fmt.Sprint(crd.Object), "color") {
		t.Errorf("the definition is %v", crd.Object)
	}
}

// TestNothingToApply checks that apply sends exactly one request for definitions if none differs,
// and that an upgrade without the flag sends none. It is not parallel, because it counts the
// requests of all clients.
//   - "If nothing differs, apply sends one list request for definitions, and no other request"
func TestNothingToApply(t *testing.T) {
	w := newWorld(t)
	gadgets := chart(t, charts.OwnConfigMap("1"), w.gadgets(t, v1Color, v2Color), w.definition(t, "Gizmo", []string{v1Size}))
	w.MustRun("install", "rel", gadgets)
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{[]string{"upgrade", "rel", gadgets, "--crds=apply"}, []string{"list"}},
		{[]string{"upgrade", "rel", gadgets, "--crds=apply", "--wait=ordered"}, []string{"list"}},
		{[]string{"upgrade", "rel", gadgets, "--crds=skip"}, nil},
		{[]string{"upgrade", "rel", gadgets}, nil},
		{[]string{"upgrade", "rel", gadgets, "--wait=ordered"}, nil},
	} {
		from := harness.Now()
		r := w.MustRun(tt.args...)
		if got := w.requests(t, from); !slices.Equal(got, tt.want) {
			t.Errorf("helm %s: got %q, want %q", strings.Join(tt.args, " "), got, tt.want)
		}
		if strings.Contains(r.Stderr, "CustomResourceDefinition") {
			t.Errorf("helm %s: got\n%s", strings.Join(tt.args, " "), r.Stderr)
		}
	}
}

// TestDefinitionsAreNeverDeleted checks that an upgrade to a chart without a definition and an
// uninstallation keep it, with its objects.
//   - "apply deletes no definition, also not one that a new version of the chart no longer contains"
//   - "A rollback, an uninstall and --atomic leave definitions as they are"
func TestDefinitionsAreNeverDeleted(t *testing.T) {
	t.Parallel()
	for name, flags := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			run := func(args ...string) { w.MustRun(append(args, flags...)...) }
			run("install", "rel", chart(t, w.gadget("v1", "size: 1"), w.gadgets(t, v1Size)), "--crds=apply")
			before := w.get(t, "gadgets").GetUID()
			run("upgrade", "rel", chart(t, charts.OwnConfigMap("1")), "--crds=apply")
			w.MustRun("uninstall", "rel")
			if crd := w.get(t, "gadgets"); crd == nil || crd.GetUID() != before {
				t.Error("the definition was deleted")
			}
		})
	}
}

// TestRollbackKeepsDefinitions checks that neither a rollback nor --atomic changes definitions back.
//   - "A rollback, an uninstall and --atomic leave definitions as they are"
func TestRollbackKeepsDefinitions(t *testing.T) {
	t.Parallel()
	for name, flags := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.MustRun(append([]string{"install", "rel", chart(t, w.gadget("v1", "size: 1"), w.gadgets(t, v1Size))}, flags...)...)
			failing := charts.Object{Kind: "Job", Name: "failing", Hook: "post-upgrade", PodAnnotations: []string{"devcluster/pod: fail"}}.Manifest()
			broken := chart(t, w.gadget("v1", "color: green")+failing, w.gadgets(t, v1Color, v2Color))
			w.ExpectFailure(t, append([]string{"upgrade", "rel", broken, "--crds=apply", "--atomic"}, flags...), "rolled back")
			w.ExpectStatuses(t, "rel", "superseded failed deployed")
			if got := w.versionsOf(t, "gadgets"); got != "v1 v2" {
				t.Errorf("after --atomic, the definition has the versions %s", got)
			}
			w.MustRun("upgrade", "rel", chart(t, w.gadget("v1", "color: red"), strings.Replace(w.gadgets(t, v1Color, v2Color), "served: true, storage: false", "served: false, storage: false", 1)), "--crds=apply")
			w.MustRun("rollback", "rel", "1")
			if got := fmt.Sprint(w.get(t, "gadgets").Object); w.versionsOf(t, "gadgets") != "v1 v2" || !strings.Contains(got, "served:false") {
				t.Errorf("after the rollback, the definition is %s", got)
			}
		})
	}
}

// TestAtomicInstallKeepsDefinitions checks that an installation that fails and is uninstalled
// keeps the definitions that it created.
func TestAtomicInstallKeepsDefinitions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	failing := charts.Object{Kind: "Job", Name: "failing", Hook: "post-install", PodAnnotations: []string{"devcluster/pod: fail"}}.Manifest()
	w.ExpectFailure(t, []string{"install", "rel", chart(t, w.gadget("v1", "size: 1")+failing, w.gadgets(t, v1Size)), "--crds=apply", "--atomic"}, "uninstalled")
	if got := w.versionsOf(t, "gadgets"); got != "v1" {
		t.Errorf("the definition has the versions %q", got)
	}
}
