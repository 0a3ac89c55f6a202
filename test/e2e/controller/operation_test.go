// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	dto "github.com/prometheus/client_model/go"

	"github.com/ordered-helm/helm/test/cluster"
	"github.com/ordered-helm/helm/test/harness"
)

// TestIdleRequests checks in the audit log that unchanged requests cause no requests to the API server.
func TestIdleRequests(t *testing.T) {
	t.Parallel()
	e, _ := start(t)
	chart := e.storeChart(t, "chart", chartFiles("1.0.0", ""))
	const n = 10
	for i := range n {
		e.request(t, fmt.Sprintf("r%d", i), chart)
	}
	for i := range n {
		e.awaitReady(t, fmt.Sprintf("r%d", i), "Deployed")
	}
	mark := e.Cluster.AuditMark(t)
	// The next request shows that the controller has processed everything before.
	e.request(t, "last", chart)
	e.awaitReady(t, "last", "Deployed")
	e.Cluster.AuditAfter(t, mark, func(event cluster.Event) {
		if event.Namespace == e.Namespace && event.UserAgent == "helm-controller" && event.Verb != "watch" && strings.HasPrefix(event.Name, "r") && event.Resource == "helmrequests" {
			t.Errorf("%s %s", event.Verb, event.URI)
		}
	})
}

// TestEndpoints reads the metrics and the health checks.
//   - "/metrics has the metrics of controller-runtime, and these"
//   - "/healthz succeeds while the process runs"
func TestEndpoints(t *testing.T) {
	t.Parallel()
	metrics, health := freeAddress(t), freeAddress(t)
	e, _ := start(t, "--metrics-bind-address", metrics, "--health-probe-bind-address", health)
	e.request(t, "good", e.storeChart(t, "chart", chartFiles("1.0.0", "")))
	e.request(t, "bad", e.storeChart(t, "broken", chartFiles("1.0.0", "---\n{{ fail \"no\" }}\n")))
	e.awaitReady(t, "good", "Deployed")
	e.awaitNotReady(t, "bad", "RenderFailed", true)
	for _, path := range []string{"/healthz", "/readyz"} {
		response := get(t, "http://"+health+path)
		if response.StatusCode != http.StatusOK {
			t.Errorf("%s: status %s", path, response.Status)
		}
		harness.NoError(t, response.Body.Close())
	}
	response := get(t, "http://"+metrics+"/metrics")
	defer func() { harness.NoError(t, response.Body.Close()) }()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(response.Body)
	harness.NoError(t, err)
	if families["controller_runtime_reconcile_total"] == nil {
		t.Error("there are no metrics of controller-runtime")
	}
	for _, c := range []struct {
		name   string
		labels map[string]string
		want   float64
	}{
		{"helm_controller_requests", map[string]string{"ready": "True", "reason": "Deployed"}, 1},
		{"helm_controller_requests", map[string]string{"ready": "False", "reason": "RenderFailed"}, 1},
		{"helm_controller_operations_total", map[string]string{"operation": "install", "result": "success"}, 1},
		{"helm_controller_operations_total", map[string]string{"operation": "install", "result": "failure"}, 1},
		{"helm_controller_operation_duration_seconds", map[string]string{"operation": "install"}, 2},
	} {
		if got := metricValue(families[c.name], c.labels); got != c.want {
			t.Errorf("%s%v is %v, want %v", c.name, c.labels, got, c.want)
		}
	}
}

func get(t *testing.T, url string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	harness.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	harness.NoError(t, err)
	return response
}

// metricValue returns the value of the metric with the given labels, or the number of observations of a
// histogram; -1 if there is none.
func metricValue(family *dto.MetricFamily, labels map[string]string) float64 {
	for _, m := range family.GetMetric() {
		matches := len(m.GetLabel()) == len(labels)
		for _, label := range m.GetLabel() {
			matches = matches && labels[label.GetName()] == label.GetValue()
		}
		switch {
		case !matches:
		case m.GetHistogram() != nil:
			return float64(m.GetHistogram().GetSampleCount())
		default:
			return m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return -1
}

// TestMissingDefinitions starts the controller in a cluster without the definitions of HelmRequests, and then
// without those of releases.
//   - "Before the definition of HelmRequest is installed, the controller waits for it, and its endpoints do not respond"
func TestMissingDefinitions(t *testing.T) {
	t.Parallel()
	e := &env{Helm: harness.New(t)}
	e.Cluster = cluster.New(t, cluster.Options{})
	e.useCluster(t)
	health := freeAddress(t)
	p := e.startController(t, "--health-probe-bind-address", health)
	p.AwaitLine(t, "waiting for the CustomResourceDefinition of HelmRequest to be installed")
	client := http.Client{Timeout: time.Second}
	if response, err := client.Get("http://" + health + "/healthz"); err == nil { //nolint:noctx // it has a timeout
		harness.NoError(t, response.Body.Close())
		t.Error("the controller responds before the definition of HelmRequest is installed")
	}
	e.installAccess(t, "replicas=1")
	e.createDeployer(t)
	e.request(t, "shop", e.storeChart(t, "chart", chartFiles("1.0.0", "")))
	e.awaitNotReady(t, "shop", "ReleaseKindsMissing", false, "helm state init")
	harness.InstallDefinitions(t, e.Cluster)
	e.awaitReady(t, "shop", "Deployed")
	e.MustRun("rollback", "shop", "1")
	harness.Eventually(t, "the rollback is noticed", func() bool {
		return harness.HasCondition("DeployedByHand", "True", "")(e.await(t, "shop", func(*unstructured.Unstructured) bool { return true }))
	})
}
