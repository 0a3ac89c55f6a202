// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	registry "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/ordered-helm/helm/cmd/helm-controller/api/v1alpha1"
	"github.com/ordered-helm/helm/cmd/helm-controller/internal/decision"
)

// metrics are the metrics of the controller, in addition to those of controller-runtime.
type metrics struct {
	operations *prometheus.CounterVec
	durations  *prometheus.HistogramVec
}

func newMetrics(requests client.Reader) (*metrics, error) {
	m := &metrics{
		operations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "helm_controller_operations_total", Help: "Number of operations on releases, by operation and result.",
		}, []string{"operation", "result"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "helm_controller_operation_duration_seconds", Help: "Duration of operations on releases.", Buckets: prometheus.ExponentialBuckets(0.05, 2, 14),
		}, []string{"operation"}),
	}
	for _, c := range []prometheus.Collector{m.operations, m.durations, &requestCollector{requests}} {
		if err := registry.Registry.Register(c); err != nil {
			return nil, fmt.Errorf("register a metric: %w", err)
		}
	}
	return m, nil
}

// observe counts an operation that has ended.
func (m *metrics) observe(a decision.Action, err error, duration time.Duration) {
	result := "success"
	if err != nil {
		result = "failure"
	}
	m.operations.WithLabelValues(string(a), result).Inc()
	m.durations.WithLabelValues(string(a)).Observe(duration.Seconds())
}

// requestCollector counts the requests in the cache by whether they are ready.
type requestCollector struct{ requests client.Reader }

func (c *requestCollector) description() *prometheus.Desc {
	return prometheus.NewDesc("helm_controller_requests", "Number of HelmRequests, by the status and the reason of their condition Ready.", []string{"ready", "reason"}, nil)
}

// Describe implements prometheus.Collector.
func (c *requestCollector) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- c.description()
}

// Collect implements prometheus.Collector.
func (c *requestCollector) Collect(all chan<- prometheus.Metric) {
	var list v1alpha1.HelmRequestList
	if err := c.requests.List(context.Background(), &list, client.UnsafeDisableDeepCopy); err != nil {
		return
	}
	counts := map[[2]string]int{}
	for _, r := range list.Items {
		key := [2]string{"Unknown", ""}
		if ready := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
			key = [2]string{string(ready.Status), ready.Reason}
		}
		counts[key]++
	}
	for key, n := range counts {
		all <- prometheus.MustNewConstMetric(c.description(), prometheus.GaugeValue, float64(n), key[0], key[1])
	}
}
