// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package definitions

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// plan runs helm plan, checks the exit code, and returns the output.
func (w *world) plan(t *testing.T, code int, args ...string) string {
	t.Helper()
	r := w.Run(append([]string{"plan", "rel", "--all"}, args...)...)
	if r.ExitCode != code {
		t.Errorf("helm plan %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), r.ExitCode, code, r.Stdout, r.Stderr)
	}
	return r.Stdout
}

// TestPlan checks what a plan says about definitions, and that it changes none.
//   - "--crds changes this in install, upgrade and plan"
//   - "helm plan --crds=apply lists all definitions first"
//   - "Custom resources whose definition is changed have a note"
func TestPlan(t *testing.T) {
	t.Parallel()
	for name, flags := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			gizmos := w.definition(t, "Gizmo", []string{v1Size})
			plan := func(code int, args ...string) string { return w.plan(t, code, append(args, flags...)...) }
			first := chart(t, w.gadget("v1", "size: 1"), w.gadgets(t, v1Size))
			harness.ExpectContains(t, plan(2, first, "--install", "--crds=apply"), "first\n  + create CustomResourceDefinition/gadgets."+w.group+"\n", "+ create Gadget/one")
			w.MustRun("install", "rel", first)
			uid := w.get(t, "gadgets").GetResourceVersion()

			harness.ExpectContains(t, plan(0, first, "--crds=apply"), "first\n  = unchanged CustomResourceDefinition/gadgets."+w.group+"\n", "= unchanged Gadget/one")
			next := chart(t, w.gadget("v1", "size: 1\ncolor: green"), w.gadgets(t, v1Color), gizmos)
			harness.ExpectContains(t, plan(2, next, "--crds=apply"), "~ change CustomResourceDefinition/gadgets."+w.group+"\n", "color:", "+ create CustomResourceDefinition/gizmos."+w.group,
				"Gadget/one in "+w.Namespace+" (the definition of its kind is changed by this release, so the result can differ)")
			if got := plan(2, next, "--crds=create"); strings.Contains(got, "CustomResourceDefinition/gadgets") || !strings.Contains(got, "+ create CustomResourceDefinition/gizmos") {
				t.Errorf("with --crds=create, got\n%s", got)
			}
			for _, flag := range []string{"--crds=skip", "--skip-crds", "--timeout=1m"} {
				if got := w.Run(append([]string{"plan", "rel", next, flag}, flags...)...); strings.Contains(got.Stdout, "CustomResourceDefinition") {
					t.Errorf("with %s, got\n%s", flag, got.Stdout)
				}
			}
			version2 := chart(t, w.gadget("v2", "color: green"), w.gadgets(t, v1Color, v2Color))
			got := plan(2, version2, "--crds=apply")
			harness.ExpectContains(t, got, "~ change CustomResourceDefinition/gadgets."+w.group, "~ change Gadget/one", "(its kind is defined by this release)")
			if strings.Contains(got, "delete") {
				t.Errorf("an object is deleted:\n%s", got)
			}
			refused := chart(t, w.gadget("v1", "size: 1"), strings.Replace(w.gadgets(t, v1Size), "Namespaced", "Cluster", 1))
			harness.ExpectContains(t, plan(1, refused, "--crds=apply"), "! would fail CustomResourceDefinition/gadgets."+w.group+"\n      spec.scope cannot be changed from Namespaced to Cluster")

			if got := w.get(t, "gadgets").GetResourceVersion(); got != uid || w.versionsOf(t, "gizmos") != "" {
				t.Error("a plan has changed definitions")
			}
		})
	}
}

// TestPlanAsJSON checks the JSON of a plan.
func TestPlanAsJSON(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.MustRun("install", "rel", chart(t, charts.OwnConfigMap("1"), w.gadgets(t, v1Size)))
	var got struct {
		Changes, Fails bool
		First          []struct{ Action, Kind, Name, Diff string }
	}
	harness.NoError(t, json.Unmarshal([]byte(w.plan(t, 2, chart(t, charts.OwnConfigMap("1"), w.gadgets(t, v1Color)), "--crds=apply", "-o", "json")), &got))
	if len(got.First) != 1 || got.First[0].Action != "change" || !strings.Contains(got.First[0].Diff, "color") || !got.Changes || got.Fails {
		t.Errorf("got %+v", got)
	}
}
