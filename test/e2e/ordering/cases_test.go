// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package ordering

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// orderCase is a chart for TestLifecycleOrder, with its expected order.
type orderCase struct {
	name string
	// chart returns the path of the chart. It skips the test if a public chart is not
	// available.
	chart func(tb testing.TB) string
	// subtreeAfter and ownAfter are the expected order of charts; see harness.Order.
	subtreeAfter, ownAfter [][2]string
	// edges is the minimum number of pairs of objects whose order is checked, so that the test
	// cannot pass without checking anything.
	edges int
	// ignoredKinds lists kinds whose order is not checked: custom resources and cluster-scoped
	// kinds.
	ignoredKinds []string
}

func orderCases() []orderCase {
	here := func(name string) func(testing.TB) string {
		return func(tb testing.TB) string { tb.Helper(); return harness.ExampleChart(tb, name) }
	}
	return []orderCase{
		{name: "shop", chart: here("shop"), edges: 60},
		{name: "guestbook", chart: here("guestbook"), edges: 9},
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
		{
			name: "postgresql and redis", chart: databases, edges: 17,
			ownAfter: [][2]string{{"store", "store/postgresql"}, {"store", "store/redis"}},
		},
		{
			name: "kube-prometheus-stack", chart: prometheusStack, edges: 14,
			ownAfter:     [][2]string{{"watched", "watched/kube-prometheus-stack"}},
			ignoredKinds: []string{"ClusterRole", "ClusterRoleBinding", "Alertmanager", "Prometheus", "PrometheusRule", "ServiceMonitor"},
		},
	}
}

// databases writes a chart with an application that depends on two public charts, which do not
// depend on each other.
func databases(tb testing.TB) string {
	tb.Helper()
	return umbrellaOver(tb, "store", `postgresql: {primary: {persistence: {enabled: false}}}
redis: {architecture: standalone, master: {persistence: {enabled: false}}}
`, "postgresql", "redis")
}

// prometheusStack writes a chart with an application that depends on all of the public chart
// kube-prometheus-stack. Only objects in the namespace of the release are checked.
func prometheusStack(tb testing.TB) string {
	tb.Helper()
	return umbrellaOver(tb, "watched", `kube-prometheus-stack:
  grafana: {enabled: false}
  kubeControllerManager: {enabled: false}
  kubeEtcd: {enabled: false}
  kubeScheduler: {enabled: false}
  kubeProxy: {enabled: false}
  coreDns: {enabled: false}
  kubelet: {enabled: false}
  prometheusOperator: {admissionWebhooks: {enabled: false}, tls: {enabled: false}, kubeletService: {enabled: false}}
`, "kube-prometheus-stack")
}

// umbrellaOver writes a chart whose own Deployment depends on public charts.
func umbrellaOver(tb testing.TB, name, values string, subcharts ...string) string {
	tb.Helper()
	meta := "apiVersion: v3\nname: " + name + "\nversion: 0.1.0\nannotations:\n  helm.sh/depends-on/subcharts: [" + strings.Join(subcharts, ", ") + "]\ndependencies:\n"
	for _, chart := range subcharts {
		meta += "  - {name: " + chart + ", version: \">0\"}\n"
	}
	dir := charts.WriteFiles(tb, map[string]string{
		"Chart.yaml": meta, "values.yaml": values, "templates/own.yaml": charts.Object{Kind: "Deployment", Name: "app", Value: "1", Annotations: charts.LongTimeout}.Manifest(),
	})
	for _, chart := range subcharts {
		archive := harness.PublicChart(tb, chart+"-*.tgz")
		charts.CopyFile(tb, archive, filepath.Join(dir, "charts", filepath.Base(archive)))
	}
	return dir
}

// keycloak writes an umbrella chart for the public chart keycloak and its subchart postgresql,
// which declare no order.
func keycloak(tb testing.TB) string {
	tb.Helper()
	archive := harness.PublicChart(tb, "keycloak-*.tgz")
	dir := charts.WriteFiles(tb, map[string]string{
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
	charts.CopyFile(tb, archive, filepath.Join(dir, "charts", filepath.Base(archive)))
	return dir
}

// webAndQueue writes the example of the proposal with two subcharts, with public charts.
func webAndQueue(tb testing.TB) string {
	tb.Helper()
	dir := charts.WriteFiles(tb, map[string]string{
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
		archive := harness.PublicChart(tb, pattern)
		charts.CopyFile(tb, archive, filepath.Join(dir, "charts", filepath.Base(archive)))
	}
	return dir
}
