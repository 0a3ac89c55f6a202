// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/resource"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/test/binaries"
)

// TestBuildMatchesHelmBuild checks that Build returns the same result or error for a manifest
// as the method Build of Helm's client.
func TestBuildMatchesHelmBuild(t *testing.T) {
	group := defined(t)
	for _, c := range buildCases() {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, group)
			compareBuilds(t, s, s.fill(c.manifest), c.short)
		})
	}
}

// TestBuildOfPublicCharts does the same for the manifests of public charts.
func TestBuildOfPublicCharts(t *testing.T) {
	charts, err := filepath.Glob(filepath.Join(binaries.Root(t), "..", "shared", "charts", "*.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	if len(charts) == 0 {
		t.Skip("no charts in ../shared/charts: skipped")
	}
	for _, chart := range charts {
		t.Run(filepath.Base(chart), func(t *testing.T) {
			manifest, err := exec.CommandContext(t.Context(), binaries.Get(t).Stock, "template", "rel", chart).Output()
			if err != nil {
				t.Skipf("it cannot be rendered by itself: %v", err)
			}
			compareBuilds(t, newSite(t, ""), string(manifest), false)
		})
	}
}

// compareBuilds compares the results of Build of both clients for a manifest. If short is
// true, our client must use its faster method, in which objects of a kind share a REST client.
func compareBuilds(t *testing.T, s *site, manifest string, short bool) {
	t.Helper()
	client := cluster.New(s.kube, cluster.Connect(s.getter, t.Logf))
	for _, validate := range []bool{false, true} {
		want, helmsErr := s.kube.Build(strings.NewReader(manifest), validate)
		got, oursErr := client.Build([]byte(manifest), validate)
		if w, g := s.text(helmsErr), s.text(oursErr); w != g {
			t.Fatalf("error\n%s\nwant\n%s", g, w)
		}
		if helmsErr != nil {
			return
		}
		if len(got) != len(want) {
			t.Fatalf("%d objects, want %d", len(got), len(want))
		}
		for i, info := range got {
			if !reflect.DeepEqual(identified(info), identified(want[i])) || !reflect.DeepEqual(info.Object, want[i].Object) {
				t.Errorf("object %d: got\n%+v\n%v\nwant\n%+v\n%v", i, identified(info), info.Object, identified(want[i]), want[i].Object)
			}
		}
		if short && (len(got) < 2 || got[0].Client != got[1].Client) {
			t.Error("it did not take the short way")
		}
	}
}

// identified returns a copy of an info without its object and its client.
func identified(info *resource.Info) resource.Info {
	bare := *info
	bare.Object, bare.Client = nil, nil
	return bare
}

type buildCase struct {
	name, manifest string
	short          bool
}

func buildCases() []buildCase {
	const one = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\n"
	const two = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: two\n"
	return []buildCase{
		{"nothing", "", false},
		{"comments alone", "# nothing\n---\n# nothing either\n", false},
		{"two objects", one + "---\n" + two, true},
		{"separators with comments", "--- # first\n# Source: a\n" + one + "---   \n---\n\n" + two + "---\n", true},
		{"a separator with text", one + "--- text\n" + two, false},
		{"blocks of text at the ends", one + "data:\n  text: |\n    a\n\n---\n" + two + "data:\n  text: |+\n    b\n\n    --- no separator\n  kept: |+\n    c\n\n", true},
		{"no end of the last line", one + "---\n" + two + "data:\n  text: |\n    a", true},
		{"line ends of Windows", strings.ReplaceAll(one+"data:\n  text: |\n    a\n---\n"+two, "\n", "\r\n"), false},
		{"numbers and truth", strings.Replace(deployment, "metadata: {name: web}", "metadata: {name: web}\n#", 1) + "---\n" + one + "immutable: yes\n---\n" + two + "immutable: off\n", false},
		{"large and broken numbers", "apiVersion: GROUP/v1\nkind: Widget\nmetadata: {name: a}\nspec: {n: 9007199254740993, f: 1.50, e: 1e3, o: 0o17, t: 2020-01-01, s: \"12\"}\n---\napiVersion: GROUP/v1\nkind: Widget\nmetadata: {name: b}\nspec: {n: -1, f: .5}\n", true},
		{"aliases", one + "data: &d {a: b}\nbinaryData: *d\n---\n" + two, true},
		{"a key twice", one + "data: {a: b, a: c}\n---\n" + two, false},
		{"JSON", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one"}}` + "\n---\n" + two, false},
		{"a list", "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(one, "\n", "\n  ") + "\n- " + strings.ReplaceAll(two, "\n", "\n  "), false},
		{"namespaces", one + "  namespace: elsewhere\n---\n" + two, true},
		{"objects of the whole cluster", "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: b, namespace: wrong}\n", true},
		{"names that the server makes", "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a-, resourceVersion: \"5\"}\n---\n" + one, true},
		{"no name", "apiVersion: v1\nkind: ConfigMap\nmetadata: {labels: {a: b}}\n---\n" + one, true},
		{"no metadata", "apiVersion: v1\nkind: ConfigMap\n---\n" + one, false},
		{"no kind", "apiVersion: v1\nmetadata: {name: a}\n---\n" + one, false},
		{"no version", "kind: ConfigMap\nmetadata: {name: a}\n---\n" + one, false},
		{"a kind that is not known", one + "---\napiVersion: GROUP/v1\nkind: Gadget\nmetadata: {name: a}\n", false},
		{"a version that is not known", "apiVersion: apps/v9\nkind: Deployment\nmetadata: {name: a}\n", false},
		{"a label that is no text", one + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {n: 1}}\n", false},
		{"a text for an object", one + "---\njust text\n", false},
		{"a field that is not known", one + "unknown: field\n---\n" + two, true},
		{"not YAML", one + "---\na: [\n", false},
	}
}

// TestBuildMatchesHelmBuildWithoutNamespace compares clients that use the namespace of the
// kubeconfig.
func TestBuildMatchesHelmBuildWithoutNamespace(t *testing.T) {
	s := newSite(t, "")
	s.kube.Namespace = ""
	compareBuilds(t, s, configMap+"---\n"+strings.Replace(configMap, "settings", "others", 1), true)
}
