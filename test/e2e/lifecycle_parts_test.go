// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	"github.com/ordered-helm/helm/test/charts"
)

// runLifecycle runs named cases side by side, each in a namespace of its own.
func runLifecycle(t *testing.T, cases map[string]func(*testing.T, *helm)) {
	t.Helper()
	for name, run := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, newHelm(t))
		})
	}
}

// three is a chart of three layers, each object with a value.
func three(tb testing.TB, value string, more ...charts.Object) string {
	tb.Helper()
	return charts.Write(tb, append(threeParts(value), more...)...)
}

func threeParts(value string) []charts.Object {
	return []charts.Object{
		{Name: "first", Layer: "first", Value: value},
		{Kind: "Deployment", Name: "app", Layer: "app", DependsOn: "first", Value: value, Annotations: charts.LongTimeout},
		{Name: "last", Layer: "last", DependsOn: "app", Value: value},
	}
}

// proveOrderOf proves that the writes since a time kept the order of the newest
// revision.
func (h *helm) proveOrderOf(tb testing.TB, name string, recorded trace, last ...func(*oracle)) {
	tb.Helper()
	o := &oracle{}
	for _, set := range last {
		set(o)
	}
	o.readObjects(tb, h.last(tb, name).Manifest)
	if pairs := o.proveChanged(tb, recorded, h.from); pairs == 0 {
		tb.Error("no two objects had an order: the proof is empty")
	}
}
