// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	"github.com/ordered-helm/helm/test/charts"
)

// TestLifecycleUpgradeMoves has the objects of a chart change places in its order:
// they stay what they are, and the new order counts.
func TestLifecycleUpgradeMoves(t *testing.T) {
	t.Parallel()
	object := func(name, layer, after string) charts.Object {
		return charts.Object{Name: name, Layer: layer, DependsOn: after}
	}
	app := charts.Object{Kind: "Deployment", Name: "app", Layer: "app", DependsOn: "base", Annotations: charts.LongTimeout}
	subchart := func(name string, parts ...charts.Object) map[string]string {
		files := map[string]string{"charts/" + name + "/Chart.yaml": "apiVersion: v3\nname: " + name + "\nversion: 0.1.0\n"}
		for _, p := range parts {
			files["charts/"+name+"/templates/"+p.Name+".yaml"] = p.Manifest()
		}
		return files
	}
	umbrella := func(order string, subcharts ...map[string]string) map[string]string {
		files := map[string]string{"Chart.yaml": charts.Metadata + order}
		for _, sub := range subcharts {
			for name, content := range sub {
				files[name] = content
			}
		}
		return files
	}
	flat := func(parts ...charts.Object) map[string]string {
		text := ""
		for _, p := range parts {
			text += p.Manifest()
		}
		return map[string]string{"Chart.yaml": charts.Metadata, "templates/all.yaml": text}
	}
	const twoAfterOne = "dependencies:\n- {name: one, version: 0.1.0}\n- {name: two, version: 0.1.0, depends-on: [one]}\n"
	const oneAfterTwo = "dependencies:\n- {name: one, version: 0.1.0, depends-on: [two]}\n- {name: two, version: 0.1.0}\n"
	after := func(later, earlier string) func(*oracle) {
		return func(o *oracle) { o.subtreeAfter = append(o.subtreeAfter, [2]string{"app/" + later, "app/" + earlier}) }
	}
	for _, tt := range []struct {
		name          string
		before, after map[string]string
		order         func(*oracle)
	}{
		{name: "layer renamed", before: flat(object("a", "base", ""), app), after: flat(object("a", "ground", ""), changedPart(app, "app", "ground"))},
		{
			name:   "layer split",
			before: flat(object("a", "base", ""), object("b", "base", ""), app),
			after:  flat(object("a", "lower", ""), object("b", "base", "lower"), app),
		},
		{
			name:   "layers merged",
			before: flat(object("a", "lower", ""), object("b", "base", "lower"), app),
			after:  flat(object("a", "base", ""), object("b", "base", ""), changedPart(app, "app", "base")),
		},
		{
			name:   "order turned round",
			before: flat(object("a", "base", ""), app),
			after:  flat(object("a", "end", "app"), changedPart(app, "app", "")),
		},
		{
			name:   "moved between charts",
			before: umbrella(twoAfterOne, subchart("one", object("a", "base", ""), app), subchart("two", object("b", "other", ""))),
			after:  umbrella(twoAfterOne, subchart("one", object("a", "base", "")), subchart("two", object("b", "other", ""), changedPart(app, "app", "other"))),
			order:  after("two", "one"),
		},
		{
			name:   "order of charts turned round",
			before: umbrella(twoAfterOne, subchart("one", object("a", "base", ""), app), subchart("two", object("b", "other", ""))),
			after:  umbrella(oneAfterTwo, subchart("one", object("a", "ground", ""), changedPart(app, "app", "ground")), subchart("two", object("b", "another", ""))),
			order:  after("one", "two"),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHelm(t)
			h.ok("install", "rel", charts.WriteFiles(t, tt.before), "--wait=ordered")
			before := h.objectsOf(t, "rel")
			h.from = mark()
			h.ok("upgrade", "rel", charts.WriteFiles(t, tt.after), "--wait=ordered")
			recorded := h.readTrace(t)
			if tt.order == nil {
				tt.order = func(*oracle) {}
			}
			h.proveOrderOf(t, "rel", recorded, tt.order)
			h.expectObjects(t, "rel")
			late := recorded.since(h.from)
			if list := late.touched("create", "delete"); len(list) > 0 {
				t.Errorf("created or deleted were %q", list)
			}
			after := h.objectsOf(t, "rel")
			for id := range before {
				expectSame(t, before, after, id)
			}
		})
	}
}

// changedPart is a part in another place, with another value.
func changedPart(p charts.Object, layer, after string) charts.Object {
	p.Layer, p.DependsOn, p.Value = layer, after, "changed"
	return p
}
