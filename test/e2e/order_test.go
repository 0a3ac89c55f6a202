// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"path/filepath"
	"testing"
)

// orderCase is a chart whose order is proven.
type orderCase struct {
	name string
	// chart makes the path of the chart, and may skip the test.
	chart func(tb testing.TB) string
	// subtreeAfter and ownAfter are the order among charts: see oracle.
	subtreeAfter, ownAfter [][2]string
	// edges is the least number of pairs of objects that have an order, so
	// that the proof cannot be empty.
	edges int
}

func orderCases() []orderCase {
	here := func(name string) func(testing.TB) string {
		return func(tb testing.TB) string { tb.Helper(); return example(tb, name) }
	}
	return []orderCase{
		{name: "shop", chart: here("shop"), edges: 60},
		{
			name: "umbrella", chart: here("umbrella"), edges: 80,
			subtreeAfter: [][2]string{{"umbrella/backend", "umbrella/platform"}, {"umbrella/frontend", "umbrella/backend"}},
			ownAfter:     [][2]string{{"umbrella", "umbrella/frontend"}},
		},
		{name: "proposal-layers", chart: here("proposal-layers"), edges: 2},
		{
			name: "proposal-subcharts", chart: here("proposal-subcharts"), edges: 7,
			subtreeAfter: [][2]string{{"foo/bar", "foo/nginx"}, {"foo/bar", "foo/rabbitmq"}},
			ownAfter:     [][2]string{{"foo", "foo/bar"}, {"foo", "foo/rabbitmq"}},
		},
		{
			name: "keycloak", chart: keycloak, edges: 45,
			ownAfter: [][2]string{{"sso", "sso/keycloak"}},
		},
		{
			name: "nginx and rabbitmq", chart: webAndQueue, edges: 15,
			subtreeAfter: [][2]string{{"site/nginx", "site/rabbitmq"}},
			ownAfter:     [][2]string{{"site", "site/nginx"}},
		},
	}
}

// keycloak is an umbrella over the public chart, which itself does not say
// anything about order: its postgresql comes with it.
func keycloak(tb testing.TB) string {
	tb.Helper()
	archive := realChart(tb, "keycloak-*.tgz")
	dir := writeChart(tb, map[string]string{
		"Chart.yaml": `apiVersion: v3
name: sso
version: 0.1.0
annotations:
  helm.sh/depends-on/subcharts: [keycloak]
dependencies:
  - name: keycloak
    version: ">0"
`,
		"templates/own.yaml": `apiVersion: v1
kind: ConfigMap
metadata:
  name: issuer
  annotations:
    helm.sh/layer: settings
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app
  annotations:
    helm.sh/layer: app
    helm.sh/depends-on/layers: [settings]
spec:
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec:
      containers: [{name: app, image: app, envFrom: [{configMapRef: {name: issuer}}]}]
---
apiVersion: v1
kind: Service
metadata:
  name: app
spec:
  selector: {app: app}
  ports: [{port: 80}]
`,
	})
	copyFile(tb, archive, filepath.Join(dir, "charts", filepath.Base(archive)))
	return dir
}

// webAndQueue is the proposal's own pair of subcharts, as they are in public.
func webAndQueue(tb testing.TB) string {
	tb.Helper()
	dir := writeChart(tb, map[string]string{
		"Chart.yaml": `apiVersion: v3
name: site
version: 0.1.0
annotations:
  helm.sh/depends-on/subcharts: ["nginx"]
dependencies:
  - name: rabbitmq
    version: ">0"
  - name: nginx
    version: ">0"
    depends-on: ["rabbitmq"]
`,
		"templates/own.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: site\n",
	})
	for _, pattern := range []string{"nginx-*.tgz", "rabbitmq-*.tgz"} {
		archive := realChart(tb, pattern)
		copyFile(tb, archive, filepath.Join(dir, "charts", filepath.Base(archive)))
	}
	return dir
}

// TestOrder proves from the API server's record that no object was created
// before everything it depends on was ready, and none deleted before everything
// that depends on it, and its pods, were gone.
func TestOrder(t *testing.T) {
	for _, tt := range orderCases() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHelm(t)
			chart := tt.chart(t)
			o := &oracle{subtreeAfter: tt.subtreeAfter, ownAfter: tt.ownAfter}
			o.readObjects(t, h.ok("template", "rel", chart).stdout)

			h.ok("install", "rel", chart, "--wait=ordered", "--readiness-timeout", "2m", "--timeout", "4m")
			o.proveInstalled(t, readTimeline(t, h.cluster, h.namespace), tt.edges)

			h.ok("uninstall", "rel", "--timeout", "2m")
			o.proveUninstalled(t, readTimeline(t, h.cluster, h.namespace))
			if list := h.ok("list", "--all", "--short").stdout; list != "" {
				t.Errorf("after the uninstall there is still %s", list)
			}
		})
	}
}

func (o *oracle) proveInstalled(tb testing.TB, recorded timeline, least int) {
	tb.Helper()
	edges := 0
	for _, a := range o.objects {
		la := recorded[a.String()]
		if la == nil || la.created.IsZero() {
			tb.Errorf("%s was not created", a)
			continue
		}
		for _, b := range o.objects {
			if !o.after(a, b) {
				continue
			}
			edges++
			switch lb := recorded[b.String()]; {
			case lb == nil || lb.ready.IsZero():
				tb.Errorf("%s was created, though %s never got ready", a, b)
			case la.created.Before(lb.ready):
				tb.Errorf("%s was created at %s, before %s was ready at %s", a, la.created, b, lb.ready)
			}
		}
	}
	if edges < least {
		tb.Errorf("only %d pairs of objects had an order, want at least %d: the proof is empty", edges, least)
	}
}

func (o *oracle) proveUninstalled(tb testing.TB, recorded timeline) {
	tb.Helper()
	for _, a := range o.objects {
		la := recorded[a.String()]
		if la == nil || la.deleted.IsZero() {
			tb.Errorf("%s was not deleted", a)
			continue
		}
		for _, b := range o.objects {
			lb := recorded[b.String()]
			if !o.after(b, a) || lb == nil { // b depends on a
				continue
			}
			if la.deleted.Before(lb.gone) {
				tb.Errorf("%s was deleted at %s, before %s was gone at %s", a, la.deleted, b, lb.gone)
			}
			if pods := recorded.podsGone(b); la.deleted.Before(pods) {
				tb.Errorf("%s was deleted at %s, before the pods of %s were gone at %s", a, la.deleted, b, pods)
			}
		}
	}
}
