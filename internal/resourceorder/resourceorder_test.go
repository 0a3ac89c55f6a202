// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package resourceorder_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/chartorder"
	"github.com/ordered-helm/helm/internal/objectid"
	"github.com/ordered-helm/helm/internal/orderfile"
	"github.com/ordered-helm/helm/internal/resourceorder"
)

// read reads what is declared about a Job of the chart shop with these annotations. rules are the rules in the order
// file of the chart.
func read(t *testing.T, c chartorder.Chart, annotations map[string]any, rules string) (resourceorder.Order, []string, error) {
	t.Helper()
	c.Name = "shop"
	var files *orderfile.Set
	if rules != "" {
		f, err := orderfile.Parse("shop/order.yaml", "shop", []byte("apiVersion: helm.sh/v1alpha1\nkind: Order\n"+rules))
		if err != nil {
			t.Fatal(err)
		}
		files = orderfile.NewSet([]*orderfile.File{f})
	}
	tree := chartorder.NewTree(&c, files)
	reader := resourceorder.Reader{Rules: tree.Rules, WrittenKeys: map[resourceorder.AnnotationKey]string{
		{File: "job.yaml", Object: "Job/a", Key: "depends-on.helm.sh/layers"}: "written/layers",
	}}
	r := resourceorder.Resource{
		Chart: tree.Charts[0], File: "job.yaml", ID: objectid.ID{Group: "batch", Kind: "Job", Name: "a"},
		Object: map[string]any{"metadata": map[string]any{"annotations": annotations, "labels": map[string]any{"app": "x", "number": 1}}},
	}
	o, err := reader.Read(r)
	var reasons []string
	for _, layer := range o.DependsOn {
		reason := reader.Reason(r, &o, layer)
		reasons = append(reasons, fmt.Sprintf("%s: %s (%s: %s)", reason.Resource, layer, reason.File, reason.Key))
	}
	for _, e := range o.ExternalDeclarations {
		reasons = append(reasons, fmt.Sprintf("%s: %s %s (%s: %s)", e.Reason.Resource, e.Need, e.Timeout, e.Reason.File, e.Reason.Key))
	}
	return o, reasons, err
}

func TestRead(t *testing.T) {
	sequenced := chartorder.Chart{Sequenced: true}
	layered := map[string]any{"helm.sh/layer": "one", "depends-on.helm.sh/layers": "zero"}
	tests := []struct {
		name        string
		chart       chartorder.Chart
		annotations map[string]any
		rules       string
		want        string
	}{
		{"nothing", sequenced, nil, "", "layer , timeout 0s, ignored false"},
		{"annotations", sequenced, layered, "", "layer one, timeout 0s, ignored false, Job/a: zero (job.yaml: written/layers)"},
		{
			"external dependencies", sequenced, map[string]any{"depends-on.helm.sh/external": "Secret/b", "helm.sh/external-timeout": "2m"}, "",
			"layer , timeout 0s, ignored false, Job/a: Secret/b 2m0s (job.yaml: depends-on.helm.sh/external)",
		},
		{"a chart that is not sequenced", chartorder.Chart{}, layered, "", "layer , timeout 0s, ignored true"},
		{"a chart that is not sequenced, without annotations about order", chartorder.Chart{}, map[string]any{"x": "y"}, "", "layer , timeout 0s, ignored false"},
		{"a chart that opts out", chartorder.Chart{OptedOut: true}, layered, "", "layer , timeout 0s, ignored false"},
		{
			"rules", chartorder.Chart{}, nil,
			"charts: [{path: '*', readinessTimeout: 5m}, {path: ., readinessTimeout: 7m}]\nresources: [{match: {labels: {app: x}}, layer: two, dependsOn: [b, a], external: [Secret/b]}, {match: {}, dependsOn: [two]}]",
			"layer two, timeout 7m0s, ignored false, Job/a: a (shop/order.yaml: resources[0].dependsOn), Job/a: b (shop/order.yaml: resources[0].dependsOn), " +
				"Job/a: Secret/b 0s (shop/order.yaml: resources[0].external)",
		},
		{
			"annotations and rules", sequenced, layered, "resources: [{match: {kind: Job}, layer: one, dependsOn: [zero, a], readiness: {timeout: 1m}}]",
			"layer one, timeout 1m0s, ignored false, Job/a: a (shop/order.yaml: resources[0].dependsOn), Job/a: zero (job.yaml: written/layers)",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o, reasons, err := read(t, tt.chart, tt.annotations, tt.rules)
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprintf("layer %s, timeout %s, ignored %t", o.Layer, o.Timeout, o.Ignored)
			if got = strings.Join(append([]string{got}, reasons...), ", "); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestErrors checks that all errors are found, and that the valid declarations remain.
func TestErrors(t *testing.T) {
	o, _, err := read(t, chartorder.Chart{Sequenced: true}, map[string]any{
		"helm.sh/layer": "one", "depends-on.helm.sh/layers": `["x`, "helm.sh/readiness-timeout": "1m",
	}, "resources: [{match: {}, layer: two, dependsOn: [zero], readiness: {timeout: 2m}}]")
	for _, want := range []string{
		`job.yaml: Job/a: written/layers: "[\"x": `,
		`shop/order.yaml: resources[0].layer: "two" conflicts with helm.sh/layer: "one" in job.yaml, for Job/a`,
		`shop/order.yaml: resources[0].readiness.timeout: "2m0s" conflicts with helm.sh/readiness-timeout: "1m0s" in job.yaml, for Job/a`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
	if o.Layer != "one" || len(o.DependsOn) != 1 {
		t.Errorf("got %+v", o)
	}
}
