// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/ordered-helm/helm/internal/lifecycle"
	"github.com/ordered-helm/helm/internal/render"
)

// changed renders a chart with two documents and a hook, and lets change change the manifest.
func changed(t *testing.T, change func(*lifecycle.Manifest) error) (*render.Result, error) {
	t.Helper()
	p := prepare(t, tree{
		"Chart.yaml": chartYAML("shop", ""),
		"templates/all.yaml": "# one\nkind: B\napiVersion: v1\nmetadata: {name:   one}\n---\n# two\nkind: B\napiVersion: v1\nmetadata: {name: two}\n" +
			"---\nkind: B\napiVersion: v1\nmetadata: {name: hook, annotations: {helm.sh/hook: pre-install}}\n",
	})
	p.options.ChangeManifest = change
	return p.render()
}

// object returns an object with more fields in its metadata.
func object(kind, name string, annotations map[string]any) map[string]any {
	metadata := map[string]any{"name": name}
	if annotations != nil {
		metadata["annotations"] = annotations
	}
	return map[string]any{"apiVersion": "v1", "kind": kind, "metadata": metadata}
}

func TestChangeManifest(t *testing.T) {
	const one, two = "---\n# Source: shop/templates/all.yaml\n# one\nkind: B\napiVersion: v1\nmetadata: {name:   one}\n", "---\n# Source: shop/templates/all.yaml\n# two\nkind: B\napiVersion: v1\nmetadata: {name: two}\n"
	for _, c := range []struct {
		name   string
		change func(*lifecycle.Manifest)
		want   string
	}{
		{"nothing", func(*lifecycle.Manifest) {}, one + two},
		{"removed", func(m *lifecycle.Manifest) { m.Documents = m.Documents[1:] }, two},
		{"all removed", func(m *lifecycle.Manifest) { m.Documents = nil }, ""},
		{"reordered", func(m *lifecycle.Manifest) { slices.Reverse(m.Documents) }, two + one},
		{
			"changed", func(m *lifecycle.Manifest) { m.Documents[1].SetObject(object("B", "new", nil)) },
			one + "---\n# Source: shop/templates/all.yaml\napiVersion: v1\nkind: B\nmetadata:\n  name: new\n",
		},
		{
			"added, of a kind that is installed first", func(m *lifecycle.Manifest) {
				m.Documents = append(m.Documents, lifecycle.NewDocument("", "apiVersion: v1\nkind: Namespace\nmetadata: {name: a} # kept\n"))
			},
			"---\n# Source: shop/ext/added.yaml\napiVersion: v1\nkind: Namespace\nmetadata: {name: a} # kept\n" + one + two,
		},
		{
			"annotations with two slashes", func(m *lifecycle.Manifest) {
				m.Documents = m.Documents[:1]
				m.Documents[0].SetObject(object("B", "one", map[string]any{"helm.sh/depends-on/layers": "a"}))
			},
			"---\n# Source: shop/templates/all.yaml\napiVersion: v1\nkind: B\nmetadata:\n  annotations:\n    depends-on.helm.sh/layers: a\n  name: one\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := changed(t, func(m *lifecycle.Manifest) error {
				if len(m.Documents) != 2 || m.Documents[0].Source != "shop/templates/all.yaml" {
					t.Errorf("the manifest is %+v", m.Documents)
				}
				c.change(m)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if strings.ReplaceAll(r.Manifest, "\n\n", "\n") != c.want || len(r.Hooks) != 1 {
				t.Errorf("got\n%s\nwant\n%s", r.Manifest, c.want)
			}
		})
	}
}

func TestChangeManifestErrors(t *testing.T) {
	cause := errors.New("no")
	for _, c := range []struct {
		name   string
		change func(*lifecycle.Manifest) error
		want   string
	}{
		{"an error", func(*lifecycle.Manifest) error { return cause }, "no"},
		{"without a kind", func(m *lifecycle.Manifest) error { m.Documents[0].SetObject(map[string]any{"a": "b"}); return nil }, "shop/templates/all.yaml: a handler of post-render has changed it to something that is not an object with a kind"},
		{"a hook", func(m *lifecycle.Manifest) error {
			m.Documents[0].SetObject(object("B", "one", map[string]any{"helm.sh/hook": "pre-install"}))
			return nil
		}, "shop/templates/all.yaml: a handler of post-render has made a hook of B"},
		{"several documents", func(m *lifecycle.Manifest) error {
			m.Documents = append(m.Documents, lifecycle.NewDocument("", "kind: A\n---\nkind: B\n"))
			return nil
		}, "shop/ext/added.yaml: a handler of post-render has changed it to 2 documents"},
		{"an object twice", func(m *lifecycle.Manifest) error {
			m.Documents = append(m.Documents, lifecycle.NewDocument("", "kind: B\napiVersion: v1\nmetadata: {name: two}\n"))
			return nil
		}, "shop/ext/added.yaml: shop/templates/all.yaml defines the same object, B two, after a handler"},
		{"something that cannot be encoded", func(m *lifecycle.Manifest) error {
			m.Documents[0].SetObject(map[string]any{"a": func() {}})
			return nil
		}, "shop/templates/all.yaml: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := changed(t, c.change); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// TestDuplicatesOfTemplates checks that objects that the templates alone define twice, as Helm permits, are no
// mistake of a handler that changes another document of the same template.
func TestDuplicatesOfTemplates(t *testing.T) {
	const a, b = "apiVersion: v1\nkind: B\nmetadata: {name: a}\n", "apiVersion: v1\nkind: B\nmetadata: {name: b}\n"
	_, err := render.FromTemplates(&chart.Chart{Metadata: &chart.Metadata{Name: "shop"}}, map[string]string{"shop/templates/all.yaml": a + "---\n" + a + "---\n" + b},
		render.Options{ChangeManifest: func(m *lifecycle.Manifest) error {
			m.Documents[2].SetObject(object("B", "b", map[string]any{"x": "y"}))
			return nil
		}})
	if err != nil {
		t.Error(err)
	}
}
