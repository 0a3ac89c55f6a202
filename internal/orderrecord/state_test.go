// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package orderrecord

import (
	"testing"

	"helm.sh/helm/v3/pkg/chart"
)

func TestStateOf(t *testing.T) {
	with := func(change func(*Record)) *chart.Chart {
		r := sample()
		change(r)
		ch, err := WithRecord(shop(), r)
		if err != nil {
			t.Fatal(err)
		}
		return ch
	}
	damaged := shop()
	Attach(damaged, []byte("no record"))
	for name, tt := range map[string]struct {
		chart *chart.Chart
		want  State
	}{
		"no chart":                       {nil, NotOrdered},
		"no record":                      {shop(), NotOrdered},
		"a record without an order":      {with(func(r *Record) { r.Ordered = false }), NotOrdered},
		"deployed in order":              {with(func(*Record) {}), Ordered},
		"the record of revision 2":       {with(func(r *Record) { r.Revision = 2 }), Ignored},
		"the record of no revision":      {with(func(r *Record) { r.Revision = 0 }), Ignored},
		"a record that cannot be read":   {damaged, Unknown},
		"without an order, revision 2":   {with(func(r *Record) { r.Ordered, r.Revision = false, 2 }), NotOrdered},
		"deployed in order, no progress": {with(func(r *Record) { r.Progress = nil }), Ordered},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := StateOf(releaseOf(tt.chart))
			if got != tt.want || (err != nil) != (tt.want == Unknown) {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}
