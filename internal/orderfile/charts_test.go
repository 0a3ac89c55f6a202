// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package orderfile

import (
	"errors"
	"slices"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
)

// chartWith returns a chart with an order file, and with subcharts.
func chartWith(name, text string, subcharts ...*chart.Chart) *chart.Chart {
	ch := &chart.Chart{Metadata: &chart.Metadata{Name: name}}
	if text != "" {
		ch.Files = []*chart.File{{Name: "README.md"}, {Name: FileName, Data: []byte(text)}}
	}
	ch.SetDependencies(subcharts...)
	return ch
}

// TestOfRelease checks which order files apply to a release, and which of them take precedence.
func TestOfRelease(t *testing.T) {
	const timeout = header + "charts: [{path: '**', readinessTimeout: "
	other := "apiVersion: v1\nkind: ConfigMap\n"
	root := chartWith("shop", timeout+"2m}]",
		chartWith("web", other, chartWith("assets", timeout+"4m}]")),
		chartWith("kafka", timeout+"3m}]"),
		chartWith("plain", ""))
	given := &Given{Name: "given.yaml", Text: []byte(timeout + "1m}]")}
	files, err := OfRelease(root, given)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name+" of "+f.Chart)
	}
	want := []string{
		"given.yaml of shop", "shop/order.yaml of shop", "shop/charts/kafka/order.yaml of shop/kafka",
		"shop/charts/web/charts/assets/order.yaml of shop/web/assets",
	}
	if !slices.Equal(names, want) {
		t.Errorf("got  %q\nwant %q", names, want)
	}
	if got := value(NewSet(files).Evaluate(shop).Chart("shop/kafka").ReadinessTimeout); got != "1m0s@given.yaml:charts[0]" {
		t.Errorf("got %s, want the timeout of the given file", got)
	}
	if files, err = OfRelease(root, nil); err != nil || len(files) != 3 {
		t.Errorf("without a given file: %d files, %v", len(files), err)
	}
	if _, err = OfRelease(root, &Given{Name: "given.yaml", Text: []byte(other)}); !errors.Is(err, ErrOther) {
		t.Errorf("a given file of another kind: %v", err)
	}
}
