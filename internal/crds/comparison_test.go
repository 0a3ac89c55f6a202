// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package crds

import (
	"testing"
)

// Versions of widgets.
const (
	twoVersions = `spec: {versions: [
		{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {size: {type: integer, maximum: 5}}}}},
		{name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}]}`
	moreFields = `spec: {versions: [
		{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {size: {type: integer, maximum: 5}, color: {type: string}}}}}]}`
	otherForm = `spec: {versions: [
		{name: v1, served: true, storage: true, deprecated: false, additionalPrinterColumns: [],
		schema: {openAPIV3Schema: {type: object, description: "", nullable: false, properties: {size: {type: integer, maximum: 5.0}}}}}]}`
	webhook = `spec: {conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {name: s, namespace: n}}}}}`
	caller  = `spec: {conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {caBundle: Y2E=, service: {name: s, namespace: n, port: 443}}}}}`
)

// TestDiffers checks which differences between a chart and the cluster count.
//   - "A definition is changed if it differs from the chart in a field that the chart declares"
//   - "Defaults, the status, and fields that others have set do not count"
//   - "spec.versions, spec.names.shortNames and spec.names.categories are replaced as a whole"
func TestDiffers(t *testing.T) {
	for _, tt := range []struct {
		name, chart, live string
		want              bool
	}{
		{name: "same"},
		{name: "empty status of a generator", chart: `metadata: {creationTimestamp: null}, status: {acceptedNames: {kind: "", plural: ""}, conditions: [], storedVersions: []}`},
		{name: "other form of the same values", chart: otherForm},
		{name: "defaults declared", chart: `spec: {names: {singular: widget, listKind: WidgetList}, conversion: {strategy: None}}`},
		{name: "annotation of others", live: `metadata: {annotations: {a: b}, labels: {c: d}, finalizers: [customresourcecleanup.apiextensions.k8s.io]}`},
		{name: "CA bundle of others", chart: webhook, live: caller},
		{name: "conversion of others", live: caller},
		{name: "new version", chart: twoVersions, want: true},
		{name: "removed version", live: twoVersions, want: true},
		{name: "new field in a schema", chart: moreFields, want: true},
		{name: "removed field in a schema", live: moreFields, want: true},
		{name: "new annotation", chart: `metadata: {annotations: {a: b}}`, want: true},
		{name: "new short name", chart: `spec: {names: {shortNames: [w, wi]}}`, want: true},
		{name: "no short names any more", chart: `spec: {names: {shortNames: null}}`, want: true},
		{name: "no categories any more", live: `spec: {names: {categories: [all]}}`, want: true},
		{name: "new conversion", chart: webhook, want: true},
		{name: "conversion declared as none", chart: `spec: {conversion: {strategy: None}}`, live: caller, want: true},
		{name: "URL instead of a service", chart: `spec: {conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://example.com"}}}}`, live: caller, want: true},
		{name: "unknown fields preserved", live: `spec: {preserveUnknownFields: true}`, want: true},
		{name: "other scope", chart: `spec: {scope: Cluster}`, want: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			info, live := declaredVariant(t, tt.chart), parsed(t, liveVariant(t, tt.live))
			if got, err := differs(info, baseOf(info, live), live); err != nil || got != tt.want {
				t.Errorf("got %v, %v, want %v", got, err, tt.want)
			}
		})
	}
}

func TestDeclaredIsCopy(t *testing.T) {
	info := declaredVariant(t, "")
	before := parsed(t, variant(t, widgets))
	live := parsed(t, liveVariant(t, caller))
	baseOf(info, live)
	if got, err := differs(info, info, before); got || err != nil || info.Mapping == nil {
		t.Errorf("the declaration was changed: %v, %v", info.Object, err)
	}
}
