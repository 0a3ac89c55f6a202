// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// unorderedChart returns the package of a chart whose subcharts db and app declare no order. db has a hook.
func unorderedChart(t *testing.T) []byte {
	t.Helper()
	hook := charts.Object{Kind: "Job", Name: "after", Hook: "post-install,post-upgrade"}
	return pack(t, charts.Chart{Name: "shop", APIVersion: "v2", Subcharts: []charts.Chart{
		{Name: "db", APIVersion: "v2", Objects: []charts.Object{{Kind: "Deployment", Name: "db"}, hook}},
		{Name: "app", APIVersion: "v2", Objects: []charts.Object{{Kind: "Deployment", Name: "app"}}},
	}}.Write(t))
}

// TestOrderOfRequest takes a release through its life whose order is declared by its HelmRequest alone.
//   - "order declares the order of charts that you do not want to edit"
//   - "It has the fields of an order file"
//   - "apiVersion and kind can be omitted"
//   - "It can be set only with waitStrategy: ordered"
//   - "If it is invalid, or names a chart that does not exist, the HelmRequest is stalled with the reason InvalidOrder"
//   - "If it changes, the release is upgraded"
//   - "It is stored in the revision, so a rollback to the revision and an uninstall follow it"
//   - "An upgrade by hand drops it unless --reuse-order is set"
func TestOrderOfRequest(t *testing.T) {
	t.Parallel()
	e, _ := start(t)
	chart := unorderedChart(t)
	const appLast = "charts: [{path: db, hookScope: chart}, {path: app, dependsOn: [db]}]"
	spec := e.storePackage(t, "chart", chart)
	if err := e.Create(t.Context(), requestOf("rel", spec+"  waitStrategy: none\n  order: {"+appLast+"}")); err == nil || !strings.Contains(err.Error(), "order has an effect only with waitStrategy ordered") {
		t.Errorf("without an ordered wait: %v", err)
	}
	e.Started = harness.Now()
	e.request(t, "rel", spec+"  order: {"+appLast+"}")
	e.awaitReady(t, "rel", "Deployed")
	e.ExpectOrder(t, "Deployment/db", "Job/after", "Deployment/app")

	// Only a change of the order is an upgrade.
	e.change(t, "rel", `{"timeout":"6m"}`)
	e.awaitReady(t, "rel", "Deployed")
	e.expectHistory(t, "rel", "deployed")
	e.change(t, "rel", `{"order":{"charts":[{"path":"db","dependsOn":["app"]}]}}`)
	e.awaitReady(t, "rel", "Deployed")
	e.expectHistory(t, "rel", "superseded deployed")

	// An invalid order changes nothing.
	for _, c := range []struct{ order, want string }{
		{`{"charts":[{"path":"db","hookScope":"all"}]}`, "charts[0].hookScope"},
		{`{"charts":[{"path":"db","dependsOn":["cache"]}]}`, "cache"},
		{`{"kind":"ConfigMap"}`, `kind "ConfigMap"`},
	} {
		e.change(t, "rel", `{"order":`+c.order+`}`)
		e.awaitNotReady(t, "rel", "InvalidOrder", true, "spec.order", c.want)
	}
	e.expectHistory(t, "rel", "superseded deployed")

	// The revision contains the order: a rollback and an uninstall follow it.
	e.Started = harness.Now()
	e.change(t, "rel", `{"rollbackTo":1}`)
	e.awaitReady(t, "rel", "RolledBack")
	dir := charts.WriteFiles(t, map[string]string{"chart.tgz": string(chart)})
	r := e.MustRun("upgrade", "rel", dir+"/chart.tgz", "--wait=ordered")
	harness.ExpectContains(t, r.Stderr, "the order file spec.order (2 rules about charts, 0 rules about resources), with which revision 3 was deployed, no longer applies")
	e.MustRun("rollback", "rel", "3")
	e.delete(t, "rel")
	recorded := e.ReadTrace(t).Since(e.Started)
	_, app := recorded.Deleted("Deployment/app")
	if db, _ := recorded.Deleted("Deployment/db"); app.IsZero() || db.Before(app) {
		t.Errorf("Deployment/db was deleted at %s, but Deployment/app was gone at %s", db, app)
	}
}
