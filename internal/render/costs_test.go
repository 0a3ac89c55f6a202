// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"fmt"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/ordered-helm/helm/internal/lifecycle"
	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// orderedObjects is a template with ConfigMaps in five layers.
const orderedObjects = `{{- range $i := until (int .Values.count) }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: c{{ $i }}
  annotations:
    helm.sh/layer: l{{ mod $i 5 }}
{{- if mod $i 5 }}
    depends-on.helm.sh/layers: l{{ sub (mod $i 5) 1 }}
{{- end }}
data: {key: value}
{{- end }}
`

// TestAllocations counts the allocations of rendering and planning per object, for few
// objects and for many. It fails if a document is parsed an additional time, or if the
// allocations grow faster than the number of objects.
func TestAllocations(t *testing.T) {
	const most = 340 // for each object, with a margin of about a tenth
	for _, n := range []int{200, 2000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			ch := &chart.Chart{
				Metadata:  &chart.Metadata{APIVersion: "v2", Name: "many", Version: "0.1.0"},
				Templates: []*chart.File{{Name: "templates/all.yaml", Data: []byte(orderedObjects)}},
			}
			values, err := chartutil.ToRenderValues(ch, map[string]any{"count": n}, chartutil.ReleaseOptions{Name: "rel", Namespace: "ns"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			root := &sequencer.Chart{Name: "many"}
			each := testing.AllocsPerRun(1, func() {
				result, err := render.Chart(ch, render.Options{Values: values, Capabilities: chartutil.DefaultCapabilities, Root: root})
				if err != nil {
					t.Fatal(err)
				}
				resources, err := result.Resources(root, false)
				if err != nil {
					t.Fatal(err)
				}
				if _, err = sequencer.Build(sequencer.Input{Root: root, Resources: resources, Namespace: "ns"}); err != nil {
					t.Fatal(err)
				}
			}) / float64(n)
			if each > most {
				t.Errorf("%.0f allocations for each object, want %d at most", each, most)
			}
			t.Logf("%.0f allocations for each object", each)
		})
	}
}

// TestAllocationsOfContents checks that documents are not parsed again when a handler has seen them.
func TestAllocationsOfContents(t *testing.T) {
	p := prepare(t, template(strings.ReplaceAll(orderedObjects, "(int .Values.count)", "1000")))
	p.options.ChangeManifest = func(*lifecycle.Manifest) error { return nil }
	result, err := p.render()
	if err != nil {
		t.Fatal(err)
	}
	if all := testing.AllocsPerRun(1, func() { _ = result.Contents() }); all > 100 {
		t.Errorf("%.0f allocations for 1000 objects", all)
	}
}
