// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartpush

import (
	"reflect"
	"testing"

	"gopkg.in/yaml.v3"
	"helm.sh/helm/v3/pkg/chart"
)

// FuzzIndex checks that adding a chart to an index changes nothing else in it.
func FuzzIndex(f *testing.F) {
	for _, seed := range []string{
		"apiVersion: v1\nentries:\n  db:\n  - {name: db, version: '1.10', x: 1.10}\n# end\n",
		"apiVersion: v1\nentries:\n  shop:\n  - name: shop\n    version: 1.2.2 # old\n  - version: 1.2.3\n",
		"apiVersion: v1\nentries: {shop: }\nserverInfo: {contextPath: /ctx}\n",
		`{"apiVersion": "v1", "entries": {"shop": [], "db": []}, "generated": "2020-01-01T00:00:00Z"}`,
		"apiVersion: v1\nx-a: &a [1, 2]\nx-b: *a\nentries:\n",
		"apiVersion: v1\ndescription: |\n  several\n   lines\n",
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	archive := &Archive{Metadata: &chart.Metadata{APIVersion: "v2", Name: "shop", Version: "1.2.3"}, Digest: "0123"}
	f.Fuzz(func(t *testing.T, old []byte, replace bool) {
		added, err := archive.addTo(old, replace)
		if err != nil || old == nil {
			return
		}
		if !archive.isIn(added) {
			t.Fatalf("the chart is missing in\n%s", added)
		}
		before, after := others(t, old), others(t, added)
		if !reflect.DeepEqual(before, after) {
			t.Errorf("%v became %v, from\n%s\nto\n%s", before, after, old, added)
		}
	})
}

// others decodes an index without what may change: the time, the version of the chart, and lists that
// are empty without it.
func others(t *testing.T, data []byte) map[string]any {
	t.Helper()
	var index map[string]any
	if err := yaml.Unmarshal(data, &index); err != nil {
		t.Skip(err) // no index of Helm
	}
	delete(index, "generated")
	entries, _ := index["entries"].(map[string]any)
	delete(index, "entries")
	for name, list := range entries {
		var kept []any
		versions, _ := list.([]any)
		for _, version := range versions {
			fields, _ := version.(map[string]any)
			if name != "shop" || fields["version"] != "1.2.3" {
				kept = append(kept, version)
			}
		}
		if len(kept) > 0 {
			index["entry "+name] = kept
		}
	}
	return index
}
