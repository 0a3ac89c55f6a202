// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/cmd/helm-controller/api/v1alpha1"
	"github.com/ordered-helm/helm/cmd/helm-controller/internal/requestvalues"
	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/pkg/action"
)

// orderFile is an order file without rules, and otherOrderFile one with a rule.
const (
	orderFile      = "apiVersion: helm.sh/v1alpha1\nkind: Order\n"
	otherOrderFile = orderFile + "charts: [{path: web, dependsOn: [db]}]\n"
)

// deployedRelease returns revision 3 of a release that the request "shop" has deployed from the chart with
// the digest aa, with the value v: one, and with an order; empty if it has none.
func deployedRelease(t *testing.T, order string) *release.Release {
	t.Helper()
	rec := &orderrecord.Record{Revision: 3, Ordered: true, Charts: &sequencer.Chart{Name: "app"}}
	if order != "" {
		rec.OrderFiles = []orderrecord.OrderFile{{Name: "spec.order", Chart: "app", Given: true, Text: order}}
	}
	ch, err := orderrecord.WithRecord(&chart.Chart{Metadata: &chart.Metadata{Name: "app", Version: "1.0.0"}}, rec)
	if err != nil {
		t.Fatal(err)
	}
	return &release.Release{
		Name: "shop", Version: 3, Chart: ch, Config: map[string]any{"v": "one"},
		Labels: map[string]string{v1alpha1.RequestLabel: "shop", digestLabel: "3.aa"},
	}
}

// TestIsDesired checks which changes of a request lead to an upgrade.
//   - "If it changes, the release is upgraded, also if all objects stay the same"
func TestIsDesired(t *testing.T) {
	for _, c := range []struct {
		name string
		// recorded is the order of the newest revision, and order that of the request.
		recorded, order string
		change          func(*run)
		digest          string
		want            bool
	}{
		{name: "unchanged", want: true},
		{name: "unchanged, with an order", recorded: orderFile, order: orderFile, want: true},
		{name: "other order", recorded: orderFile, order: otherOrderFile},
		{name: "new order", order: orderFile},
		{name: "order removed", recorded: orderFile},
		{name: "other values", change: func(r *run) { r.values.Merged["v"] = "two" }},
		{name: "other chart", digest: "sha256:bb"},
		{name: "not by this request", change: func(r *run) { r.newest.Labels[v1alpha1.RequestLabel] = "other" }},
		{name: "not by the controller", change: func(r *run) { r.newest.Version = 4 }},
		{name: "no release", change: func(r *run) { r.newest = nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newTestRun()
			r.newest, r.values = deployedRelease(t, c.recorded), &requestvalues.Values{Merged: map[string]any{"v": "one"}}
			if c.order != "" {
				r.order = &action.OrderFile{Name: "spec.order", Text: []byte(c.order)}
			}
			if c.change != nil {
				c.change(r)
			}
			if c.digest == "" {
				c.digest = "sha256:aa"
			}
			if got := r.isDesired(v1alpha1.DeployedChart{Digest: c.digest}); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// TestHaveSameContent checks when a rollback changes nothing.
func TestHaveSameContent(t *testing.T) {
	for _, c := range []struct {
		name, first, second string
		want                bool
	}{
		{"the same", orderFile, orderFile, true},
		{"no order", "", "", true},
		{"another order", orderFile, otherOrderFile, false},
		{"an order and none", orderFile, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := haveSameContent(deployedRelease(t, c.first), deployedRelease(t, c.second)); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
