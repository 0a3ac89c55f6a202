// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// oracle says which objects must be ready before which, worked out from the
// rendered manifest and from what the test says about charts: none of the
// program's own planning is asked.
type oracle struct {
	objects []object
	// subtreeAfter lists pairs of charts: the whole subtree of the first comes
	// after that of the second. ownAfter: the first one's own objects do.
	subtreeAfter, ownAfter [][2]string
	// besides are kinds that are left out.
	besides []string
}

// object is what the oracle knows of one object.
type object struct {
	kind, name, chart, layer string
	dependsOn                []string
}

func (o object) String() string { return o.kind + "/" + o.name }

// readObjects reads `helm template`.
func (o *oracle) readObjects(tb testing.TB, manifest string) {
	tb.Helper()
	for doc := range strings.SplitSeq(manifest, "\n---\n") {
		var m struct {
			Kind     string
			Metadata struct {
				Name        string
				Annotations map[string]string
			}
		}
		if err := yaml.Unmarshal([]byte(doc), &m); err != nil {
			tb.Fatalf("%v in\n%s", err, doc)
		}
		a := m.Metadata.Annotations
		if m.Kind == "" || a["helm.sh/hook"] != "" || slices.Contains(o.besides, m.Kind) {
			continue
		}
		o.objects = append(o.objects, object{
			kind: m.Kind, name: m.Metadata.Name, chart: chartOf(doc),
			layer: a["helm.sh/layer"], dependsOn: names(tb, a["depends-on.helm.sh/layers"]),
		})
	}
	if len(o.objects) == 0 {
		tb.Fatal("the manifest has no objects")
	}
}

// chartOf reads "a/charts/b/templates/x.yaml" from the Source comment as "a/b".
func chartOf(doc string) string {
	_, source, _ := strings.Cut(doc, "# Source: ")
	source, _, _ = strings.Cut(source, "\n")
	path, _, _ := strings.Cut(source, "/templates/")
	return strings.ReplaceAll(path, "/charts/", "/")
}

func names(tb testing.TB, value string) []string {
	tb.Helper()
	items := []string{value}
	if strings.HasPrefix(value, "[") {
		if err := json.Unmarshal([]byte(value), &items); err != nil {
			tb.Fatal(err)
		}
	}
	var all []string
	for _, item := range items {
		for name := range strings.SplitSeq(item, ",") {
			if name = strings.TrimSpace(name); name != "" {
				all = append(all, name)
			}
		}
	}
	return all
}

// after reports whether a must come after b is ready.
func (o *oracle) after(a, b object) bool {
	for _, pair := range o.subtreeAfter {
		if within(a.chart, pair[0]) && within(b.chart, pair[1]) {
			return true
		}
	}
	for _, pair := range o.ownAfter {
		if a.chart == pair[0] && within(b.chart, pair[1]) {
			return true
		}
	}
	return a.chart == b.chart && o.afterInChart(a, b)
}

func within(chart, root string) bool {
	return chart == root || strings.HasPrefix(chart, root+"/")
}

// afterInChart follows layers within one chart.
func (o *oracle) afterInChart(a, b object) bool {
	sequenced := func(x object) bool { return x.layer != "" || len(x.dependsOn) > 0 }
	if !sequenced(a) {
		return sequenced(b)
	}
	if b.layer == "" {
		return false
	}
	seen := map[string]bool{}
	next := o.layersBefore(a)
	for len(next) > 0 {
		layer := next[0]
		next = next[1:]
		if layer == b.layer {
			return true
		}
		if seen[layer] {
			continue
		}
		seen[layer] = true
		next = append(next, o.layersBefore(object{chart: a.chart, layer: layer})...)
	}
	return false
}

// layersBefore are the layers that the object, or any in its layer, depends on.
func (o *oracle) layersBefore(a object) []string {
	layers := slices.Clone(a.dependsOn)
	for _, x := range o.objects {
		if a.layer != "" && x.chart == a.chart && x.layer == a.layer {
			layers = append(layers, x.dependsOn...)
		}
	}
	return layers
}

// proveInstalled proves that no object was created before everything it depends on
// was ready.
func (o *oracle) proveInstalled(tb testing.TB, recorded trace, least int) {
	tb.Helper()
	edges := 0
	for _, a := range o.objects {
		created := recorded.created(a.String())
		if created.IsZero() {
			tb.Errorf("%s was not created", a)
			continue
		}
		for _, b := range o.objects {
			if !o.after(a, b) {
				continue
			}
			edges++
			switch ready := recorded.ready(b.String()); {
			case ready.IsZero():
				tb.Errorf("%s was created, though %s never got ready", a, b)
			case created.Before(ready):
				tb.Errorf("%s was created at %s, before %s was ready at %s", a, created, b, ready)
			}
		}
	}
	if edges < least {
		tb.Errorf("only %d pairs of objects had an order, want at least %d: the proof is empty", edges, least)
	}
}

// proveUninstalled proves that all objects were deleted, none before everything that
// depends on it, and its pods, were gone.
func (o *oracle) proveUninstalled(tb testing.TB, recorded trace) {
	tb.Helper()
	o.proveRemoved(tb, recorded, func(object) bool { return true })
}

// proveChanged proves that nothing of a revision was created or changed before all
// that it depends on was ready at its new version: of the writes that came after a
// time. It returns how many pairs of objects it looked at.
func (o *oracle) proveChanged(tb testing.TB, recorded trace, from time.Time) int {
	tb.Helper()
	pairs, late := 0, recorded.since(from)
	for _, a := range o.objects {
		written := late.helms(a.String(), changing...)
		if len(written) == 0 {
			continue
		}
		at := written[0].received
		for _, b := range o.objects {
			if !o.after(a, b) {
				continue
			}
			pairs++
			if why := recorded.readyBy(b, at); why != "" {
				tb.Errorf("%s of %s at %s, though %s, on which it depends, %s", written[0].verb, a, at, b, why)
			}
		}
	}
	return pairs
}

// proveRemoved proves that what is gone was deleted, nothing of it before all that
// depended on it was gone, and its pods. It returns how many pairs of objects it
// looked at.
func (o *oracle) proveRemoved(tb testing.TB, recorded trace, isGone func(object) bool) int {
	tb.Helper()
	pairs := 0
	for _, a := range o.objects {
		deleted, _ := recorded.deleted(a.String())
		if !isGone(a) {
			continue
		}
		if deleted.IsZero() {
			tb.Errorf("%s was not deleted", a)
			continue
		}
		for _, b := range o.objects {
			if !isGone(b) || !o.after(b, a) { // b depends on a
				continue
			}
			pairs++
			_, gone := recorded.deleted(b.String())
			if deleted.Before(gone) {
				tb.Errorf("%s was deleted at %s, before %s was gone at %s", a, deleted, b, gone)
			}
			if pods := recorded.podsGone(b); deleted.Before(pods) {
				tb.Errorf("%s was deleted at %s, before the pods of %s were gone at %s", a, deleted, b, pods)
			}
		}
	}
	return pairs
}
