// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/ordered-helm/helm/test/cluster"
)

// BenchmarkDrift5000 compares the time of "helm drift" for a release with 5,000 objects with the time in which a
// client lists and decodes these objects. It reports the ratio, which must be at most 2.
func BenchmarkDrift5000(b *testing.B) {
	const n, rounds, maxRatio = 5000, 3, 2.0
	c := cluster.Shared(b)
	namespace := c.Namespace(b)
	helm := ours(b, c)
	if _, err := helm.run(b.Context(), "install", "rel", objectsChart(b, n, 0), "--namespace", namespace); err != nil {
		b.Fatal(err)
	}
	config := c.Config()
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	list, drift := time.Duration(0), time.Duration(0)
	for range rounds {
		list += timeOf(b, func(ctx context.Context) error {
			found, err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(namespace).List(ctx, metav1.ListOptions{})
			if err == nil && len(found.Items) < n {
				err = fmt.Errorf("there are only %d objects", len(found.Items))
			}
			return err
		})
		drift += timeOf(b, func(ctx context.Context) error {
			_, err := helm.run(ctx, "drift", "rel", "--namespace", namespace)
			return err
		})
	}
	ratio := drift.Seconds() / list.Seconds()
	b.ReportMetric(list.Seconds()/rounds, "list-s")
	b.ReportMetric(drift.Seconds()/rounds, "drift-s")
	b.ReportMetric(ratio, "ratio")
	b.ReportMetric(0, "ns/op")
	if ratio > maxRatio {
		b.Logf("drift takes %.2f times as long as listing the objects; the goal is at most %.1f", ratio, maxRatio)
	}
}

// timeOf returns how long do takes.
func timeOf(b *testing.B, do func(context.Context) error) time.Duration {
	b.Helper()
	began := time.Now()
	if err := do(b.Context()); err != nil {
		b.Fatal(err)
	}
	return time.Since(began)
}
