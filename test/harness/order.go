// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// Order is the expected order of the objects of a release. It is derived from the layers in
// the rendered manifest and from the order of charts that the test specifies, and does not use
// the code under test.
type Order struct {
	Objects []OrderedObject
	// SubtreeAfter contains pairs of charts: all objects of the first chart and its subcharts
	// depend on all objects of the second chart and its subcharts. In the pairs of OwnAfter,
	// only the first chart's own objects do.
	SubtreeAfter, OwnAfter [][2]string
	// IgnoredKinds contains kinds whose objects are not checked.
	IgnoredKinds []string
}

// OrderedObject is an object of the release, with the chart and layer that determine its
// position in the order.
type OrderedObject struct {
	Kind, Name, chart, layer string
	dependsOn                []string
}

func (o OrderedObject) String() string { return o.Kind + "/" + o.Name }

// AddManifest adds the objects of a rendered manifest.
func (o *Order) AddManifest(tb testing.TB, manifest string) {
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
		if m.Kind == "" || a["helm.sh/hook"] != "" || slices.Contains(o.IgnoredKinds, m.Kind) {
			continue
		}
		o.Objects = append(o.Objects, OrderedObject{
			Kind: m.Kind, Name: m.Metadata.Name, chart: chartOf(doc),
			layer: a["helm.sh/layer"], dependsOn: names(tb, a["depends-on.helm.sh/layers"]),
		})
	}
	if len(o.Objects) == 0 {
		tb.Fatal("the manifest has no objects")
	}
}

// chartOf returns the path of the chart of a rendered document, such as "a/b" for a document
// with the comment "# Source: a/charts/b/templates/x.yaml".
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
		NoError(tb, json.Unmarshal([]byte(value), &items))
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

// mustFollow reports whether a must not be created before b is ready.
func (o *Order) mustFollow(a, b OrderedObject) bool {
	for _, pair := range o.SubtreeAfter {
		if within(a.chart, pair[0]) && within(b.chart, pair[1]) {
			return true
		}
	}
	for _, pair := range o.OwnAfter {
		if a.chart == pair[0] && within(b.chart, pair[1]) {
			return true
		}
	}
	return a.chart == b.chart && o.afterInChart(a, b)
}

func within(chart, root string) bool {
	return chart == root || strings.HasPrefix(chart, root+"/")
}

// afterInChart reports whether a must not be created before b is ready because of the layers
// in their chart.
func (o *Order) afterInChart(a, b OrderedObject) bool {
	sequenced := func(x OrderedObject) bool { return x.layer != "" || len(x.dependsOn) > 0 }
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
		next = append(next, o.layersBefore(OrderedObject{chart: a.chart, layer: layer})...)
	}
	return false
}

// layersBefore returns the layers on which the object, or another object of its layer, depends
// directly.
func (o *Order) layersBefore(a OrderedObject) []string {
	layers := slices.Clone(a.dependsOn)
	for _, x := range o.Objects {
		if a.layer != "" && x.chart == a.chart && x.layer == a.layer {
			layers = append(layers, x.dependsOn...)
		}
	}
	return layers
}

// CheckInstall checks that no object was created before all its dependencies were ready. It
// checks at least the given number of pairs of objects, so that a test cannot pass without
// checking anything.
func (o *Order) CheckInstall(tb testing.TB, recorded Trace, least int) {
	tb.Helper()
	edges := 0
	for _, a := range o.Objects {
		created := recorded.Created(a.String())
		if created.IsZero() {
			tb.Errorf("%s was not created", a)
			continue
		}
		for _, b := range o.Objects {
			if !o.mustFollow(a, b) {
				continue
			}
			edges++
			switch ready := recorded.Ready(b.String()); {
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

// CheckUninstall checks that all objects were deleted, each only after its dependents and
// their pods no longer existed.
func (o *Order) CheckUninstall(tb testing.TB, recorded Trace) {
	tb.Helper()
	o.CheckDeletions(tb, recorded, func(OrderedObject) bool { return true })
}

// CheckChanges checks the writes of an operation that started at from: no object was created
// or changed before all its dependencies were ready in their new version. It returns the
// number of pairs of objects that it checked.
func (o *Order) CheckChanges(tb testing.TB, recorded Trace, from time.Time) int {
	tb.Helper()
	pairs, late := 0, recorded.Since(from)
	for _, a := range o.Objects {
		written := late.HelmWrites(a.String(), ChangeVerbs...)
		if len(written) == 0 {
			continue
		}
		at := written[0].Received
		for _, b := range o.Objects {
			if !o.mustFollow(a, b) {
				continue
			}
			pairs++
			if why := recorded.NotReadyReason(b, at); why != "" {
				tb.Errorf("%s of %s at %s, though %s, on which it depends, %s", written[0].Verb, a, at, b, why)
			}
		}
	}
	return pairs
}

// CheckDeletions checks that the objects for which isGone is true were deleted, each only
// after its dependents and their pods no longer existed. It returns the number of pairs of
// objects that it checked.
func (o *Order) CheckDeletions(tb testing.TB, recorded Trace, isGone func(OrderedObject) bool) int {
	tb.Helper()
	pairs := 0
	for _, a := range o.Objects {
		deleted, _ := recorded.Deleted(a.String())
		if !isGone(a) {
			continue
		}
		if deleted.IsZero() {
			tb.Errorf("%s was not deleted", a)
			continue
		}
		for _, b := range o.Objects {
			if !isGone(b) || !o.mustFollow(b, a) { // b depends on a
				continue
			}
			pairs++
			_, gone := recorded.Deleted(b.String())
			if deleted.Before(gone) {
				tb.Errorf("%s was deleted at %s, before %s was gone at %s", a, deleted, b, gone)
			}
			if pods := recorded.PodsGone(b); deleted.Before(pods) {
				tb.Errorf("%s was deleted at %s, before the pods of %s were gone at %s", a, deleted, b, pods)
			}
		}
	}
	return pairs
}
