// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package definitions

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// TestDirectories checks which directories count, and which of several definitions is used.
//   - "The directories crds/ of all enabled subcharts count"
//   - "If a definition is in several of them, the first one counts, beginning with that of the root chart; apply warns if they are not the same"
//   - "Objects in crds/ that are no definitions are created if they do not exist, as in stock Helm"
func TestDirectories(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"create", "apply"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			dir := charts.WriteFiles(t, map[string]string{
				"Chart.yaml":         "apiVersion: v3\nname: defining\nversion: 0.1.0\ndependencies:\n- {name: used, version: 0.1.0}\n- {name: unused, version: 0.1.0, condition: unused.enabled}\n",
				"values.yaml":        "unused: {enabled: false}\n",
				"templates/all.yaml": charts.OwnConfigMap("1"), "crds/z.yaml": w.gadgets(t, v1Size),
				"charts/used/Chart.yaml": "apiVersion: v2\nname: used\nversion: 0.1.0\n", "charts/used/crds/a.yaml": w.gadgets(t, v1Color, v2Color), "charts/used/crds/b.yaml": w.definition(t, "Gizmo", []string{v1Size}),
				"charts/used/crds/c.yaml":  charts.Object{Name: "new", Value: "chart"}.Manifest() + charts.Object{Name: "old", Value: "chart"}.Manifest(),
				"charts/unused/Chart.yaml": "apiVersion: v2\nname: unused\nversion: 0.1.0\n", "charts/unused/crds/a.yaml": w.definition(t, "Gasket", []string{v1Size}),
			})
			w.Apply(t, charts.Object{Name: "old", Value: "cluster"}.Manifest())
			r := w.MustRun("upgrade", "rel", dir, "--install", "--crds="+policy)
			if got := []string{w.versionsOf(t, "gadgets"), w.versionsOf(t, "gizmos"), w.versionsOf(t, "gaskets")}; strings.Join(got, ",") != "v1,v1," {
				t.Errorf("the definitions have the versions %q", got)
			}
			warning := "CustomResourceDefinition gadgets." + w.group + " is declared in defining/crds/z.yaml and, differently, in defining/charts/used/crds/a.yaml: the first declaration is used"
			if warned := strings.Contains(r.Stderr, warning); warned != (policy == "apply") {
				t.Errorf("got\n%s", r.Stderr)
			}
			if created, existing := harness.ValueOf(w.Get(t, "ConfigMap/new")), harness.ValueOf(w.Get(t, "ConfigMap/old")); created != "chart" || existing != "cluster" {
				t.Errorf("the objects have the values %q and %q", created, existing)
			}
		})
	}
}

// TestCRDInstallHooks checks with which flags crd-install hooks run.
//   - "skip | as --skip-crds: nothing is done with definitions, and crd-install hooks do not run"
func TestCRDInstallHooks(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]string{"--timeout=1m": "v1", "--crds=create": "v1", "--crds=apply": "v1", "--crds=skip": "", "--skip-crds": ""} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			hook := strings.Replace(w.definition(t, "Gizmo", []string{v1Size}), w.group+"}", w.group+", annotations: {helm.sh/hook: crd-install}}", 1)
			w.MustRun("install", "rel", chart(t, charts.OwnConfigMap("1")+"---\n"+hook, w.gadgets(t, v1Size)), "--wait=ordered", flag)
			if got, other := w.versionsOf(t, "gadgets"), w.versionsOf(t, "gizmos"); got != want || other != want {
				t.Errorf("the definitions have the versions %q and %q, want %q", got, other, want)
			}
		})
	}
}

// TestReplacedLists checks that lists that a chart no longer declares in full are replaced.
//   - "spec.versions, spec.names.shortNames and spec.names.categories are replaced as a whole"
func TestReplacedLists(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	names := func(more string) string {
		return w.definition(t, "Gadget", []string{v1Size}, "plural: gadgets", "plural: gadgets"+more)
	}
	w.MustRun("install", "rel", chart(t, charts.OwnConfigMap("1"), names(", shortNames: [ga, gb], categories: [all, some]")), "--crds=apply")
	for more, want := range map[string]string{", shortNames: [gb], categories: [some]": "[gb] [some]", "": "[] []"} {
		w.MustRun("upgrade", "rel", chart(t, charts.OwnConfigMap("1"), names(more)), "--crds=apply")
		live := w.get(t, "gadgets").Object
		short, _, _ := unstructured.NestedStringSlice(live, "spec", "names", "shortNames")
		categories, _, _ := unstructured.NestedStringSlice(live, "spec", "names", "categories")
		if got := fmt.Sprint(short, " ", categories); got != want {
			t.Errorf("the names are %s, want %s", got, want)
		}
	}
}

// TestSeveralReleases checks that each release applies its own version of a definition.
//   - "The definitions in the cluster belong to no release"
func TestSeveralReleases(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	older, newer := chart(t, "", w.gadgets(t, v1Size)), chart(t, "", w.gadgets(t, v1Color, v2Color))
	w.MustRun("install", "one", older, "--crds=apply")
	w.MustRun("install", "two", newer, "--crds=apply")
	if got := w.versionsOf(t, "gadgets"); got != "v1 v2" {
		t.Errorf("after two, the definition has the versions %q", got)
	}
	w.MustRun("upgrade", "one", older, "--crds=apply")
	if got := w.versionsOf(t, "gadgets"); got != "v1" {
		t.Errorf("after one, the definition has the versions %q", got)
	}
	w.MustRun("uninstall", "one")
	if crd := w.get(t, "gadgets"); crd == nil || crd.GetLabels()["app.kubernetes.io/managed-by"] != "" {
		t.Errorf("the definition is %v", crd)
	}
}

// TestErrorsBefore checks what is an error before definitions are changed.
//   - "Values that do not match the schema, a release that is too large, a locked release and, with --wait=ordered, everything that can be checked before is an error before that"
func TestErrorsBefore(t *testing.T) {
	t.Parallel()
	noise := make([]byte, 900<<10)
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	ordered := []string{"--wait=ordered"}
	for name, c := range map[string]struct {
		file, text, want string
		flags            []string
	}{
		"values":                   {"values.schema.json", `{"properties": {"a": {"type": "integer"}}}`, "values don't meet the specifications of the schema", []string{"--set", "a=b"}},
		"values and YAML":          {"values.schema.yaml", "properties: {a: {type: integer}}\n", "/a", []string{"--set", "a=b"}},
		"values, in order":         {"values.schema.json", `{"properties": {"a": {"type": "integer"}}}`, "values don't meet the specifications of the schema", []string{"--set", "a=b", "--wait=ordered"}},
		"the size":                 {"large.txt", base64.StdEncoding.EncodeToString(noise), "release rel is too large to be stored", nil},
		"an order file":            {"order.yaml", "apiVersion: helm.sh/v1alpha1\nkind: Order\nunknown: 5\n", "order.yaml:3: unknown: unknown field", ordered},
		"a hook scope":             {"Chart.yaml", "apiVersion: v3\nname: defining\nversion: 0.1.0\nhookScope: all\n", "must be chart or release", ordered},
		"an unknown subchart":      {"Chart.yaml", "apiVersion: v3\nname: defining\nversion: 0.1.0\nannotations: {depends-on.helm.sh/subcharts: none}\n", `unknown subchart "none"`, ordered},
		"an annotation":            {"templates/a.yaml", charts.Object{Name: "a", Annotations: []string{"helm.sh/readiness-timeout: soon"}}.Manifest(), "helm.sh/readiness-timeout", ordered},
		"a cycle":                  {"templates/a.yaml", charts.Manifests(charts.Object{Name: "a", Layer: "a", DependsOn: "b"}, charts.Object{Name: "b", Layer: "b", DependsOn: "a"}), "dependency cycle", ordered},
		"an object of the release": {"templates/a.yaml", charts.Object{Name: "a", Annotations: []string{"depends-on.helm.sh/external: ConfigMap/own"}}.Manifest(), "is part of the same release", ordered},
		"a timeout":                {"templates/a.yaml", charts.Object{Name: "a", Annotations: []string{"depends-on.helm.sh/external: Secret/s", "helm.sh/external-timeout: 2h"}}.Manifest(), "is longer than the timeout of the whole operation", ordered},
		"an unsatisfied reference": {"templates/a.yaml", charts.Object{Name: "a"}.Manifest() + charts.Object{Kind: "Pod", Name: "p", Layer: "p", PodSpec: "containers: [{name: c, image: i, envFrom: [{configMapRef: {name: a}}]}]"}.Manifest(), "ConfigMap/a", ordered},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			dir := chart(t, charts.OwnConfigMap("1"), w.gadgets(t, v1Size))
			charts.AddFile(t, dir, c.file, c.text)
			for _, policy := range []string{"apply", "create"} {
				w.ExpectFailure(t, append([]string{"install", "rel", dir, "--crds=" + policy}, c.flags...), c.want)
				if got := w.versionsOf(t, "gadgets"); got != "" {
					t.Errorf("--crds=%s has created the definition, with the versions %s", policy, got)
				}
			}
			w.ExpectNoReleases(t)
		})
	}
}

// TestLockedRelease checks that an upgrade changes no definitions while another operation holds the lock of the release.
//   - "a locked release and, with --wait=ordered, everything that can be checked before is an error before that"
func TestLockedRelease(t *testing.T) {
	t.Parallel()
	for name, flags := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.MustRun("install", "rel", chart(t, charts.OwnConfigMap("1")))
			p := w.Start(t, "upgrade", "rel", charts.HangingChart(t, "4m"), "--wait=ordered", "--progress=plain")
			p.AwaitLine(t, "second")
			w.ExpectFailure(t, append([]string{"upgrade", "rel", chart(t, charts.OwnConfigMap("2"), w.gadgets(t, v1Size)), "--crds=apply", "--takeover=never"}, flags...), "locked by helm upgrade on ")
			if got := w.versionsOf(t, "gadgets"); got != "" {
				t.Errorf("the definition was created, with the versions %s", got)
			}
			p.Kill()
			p.Wait(t)
		})
	}
}

// TestDeletedDefinition checks that a definition that is being deleted is not applied.
//   - "a definition that is being deleted is not applied"
func TestDeletedDefinition(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.MustRun("install", "rel", chart(t, charts.OwnConfigMap("1"), w.gadgets(t, v1Size)))
	w.patch(t, `{"metadata":{"finalizers":["ordered.example/hold"]}}`)
	t.Cleanup(func() { w.patch(t, `{"metadata":{"finalizers":null}}`) })
	harness.NoError(t, w.Resource("apiextensions.k8s.io/v1", "CustomResourceDefinition").Delete(t.Context(), "gadgets."+w.group, metav1.DeleteOptions{}))
	w.ExpectFailure(t, []string{"upgrade", "rel", chart(t, charts.OwnConfigMap("2"), w.gadgets(t, v1Size)), "--crds=apply"}, "it is being deleted", "nothing was changed")
	w.ExpectStatuses(t, "rel", "deployed")
}
