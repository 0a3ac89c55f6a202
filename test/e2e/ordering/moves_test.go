// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package ordering

import (
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// TestLifecycleUpgradeChangesOrder checks an upgrade that changes the order of the objects of
// a chart: they are not recreated, and the upgrade follows the new order.
func TestLifecycleUpgradeChangesOrder(t *testing.T) {
	t.Parallel()
	object := func(name, layer, after string) charts.Object {
		return charts.Object{Name: name, Layer: layer, DependsOn: after}
	}
	app := charts.Object{Kind: "Deployment", Name: "app", Layer: "app", DependsOn: "base", Annotations: charts.LongTimeout}
	flat := func(objects ...charts.Object) charts.Chart { return charts.Chart{Objects: objects} }
	subchart := func(name string, objects ...charts.Object) charts.Chart {
		return charts.Chart{Name: name, TemplatePerObject: true, Objects: objects}
	}
	umbrella := func(order string, subcharts ...charts.Chart) charts.Chart {
		return charts.Chart{Metadata: order, Subcharts: subcharts}
	}
	const twoAfterOne = "dependencies:\n- {name: one, version: 0.1.0}\n- {name: two, version: 0.1.0, depends-on: [one]}\n"
	const oneAfterTwo = "dependencies:\n- {name: one, version: 0.1.0, depends-on: [two]}\n- {name: two, version: 0.1.0}\n"
	after := func(later, earlier string) func(*harness.Order) {
		return func(o *harness.Order) {
			o.SubtreeAfter = append(o.SubtreeAfter, [2]string{"app/" + later, "app/" + earlier})
		}
	}
	for _, tt := range []struct {
		name          string
		before, after charts.Chart
		order         func(*harness.Order)
	}{
		{name: "layer renamed", before: flat(object("a", "base", ""), app), after: flat(object("a", "ground", ""), relayered(app, "ground"))},
		{
			name:   "layer split",
			before: flat(object("a", "base", ""), object("b", "base", ""), app),
			after:  flat(object("a", "lower", ""), object("b", "base", "lower"), app),
		},
		{
			name:   "layers merged",
			before: flat(object("a", "lower", ""), object("b", "base", "lower"), app),
			after:  flat(object("a", "base", ""), object("b", "base", ""), relayered(app, "base")),
		},
		{
			name:   "order turned round",
			before: flat(object("a", "base", ""), app),
			after:  flat(object("a", "end", "app"), relayered(app, "")),
		},
		{
			name:   "moved between charts",
			before: umbrella(twoAfterOne, subchart("one", object("a", "base", ""), app), subchart("two", object("b", "other", ""))),
			after:  umbrella(twoAfterOne, subchart("one", object("a", "base", "")), subchart("two", object("b", "other", ""), relayered(app, "other"))),
			order:  after("two", "one"),
		},
		{
			name:   "order of charts turned round",
			before: umbrella(twoAfterOne, subchart("one", object("a", "base", ""), app), subchart("two", object("b", "other", ""))),
			after:  umbrella(oneAfterTwo, subchart("one", object("a", "ground", ""), relayered(app, "ground")), subchart("two", object("b", "another", ""))),
			order:  after("one", "two"),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			h.MustRun("install", "rel", tt.before.Write(t), "--wait=ordered")
			before := h.ReleaseObjects(t, "rel")
			h.Started = harness.Now()
			h.MustRun("upgrade", "rel", tt.after.Write(t), "--wait=ordered")
			recorded := h.ReadTrace(t)
			if tt.order == nil {
				tt.order = func(*harness.Order) {}
			}
			h.CheckOrder(t, "rel", recorded, tt.order)
			h.ExpectManifestObjects(t, "rel")
			late := recorded.Since(h.Started)
			if list := late.WrittenByHelm("create", "delete"); len(list) > 0 {
				t.Errorf("created or deleted were %q", list)
			}
			after := h.ReleaseObjects(t, "rel")
			for id := range before {
				harness.ExpectSameObjects(t, before, after, id)
			}
		})
	}
}

// relayered returns a copy of an object that depends on another layer and has another value.
func relayered(p charts.Object, after string) charts.Object {
	p.DependsOn, p.Value = after, "changed"
	return p
}
