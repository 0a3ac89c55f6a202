// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/test/cluster"
)

// removeAll deletes everything that runs in a namespace, and waits until it no longer exists,
// so that one round does not slow down the next.
func removeAll(b *testing.B, c *cluster.Cluster, namespace string) {
	b.Helper()
	now, background := int64(0), metav1.DeletePropagationBackground
	opts := metav1.DeleteOptions{GracePeriodSeconds: &now, PropagationPolicy: &background}
	apps, batch := c.Client().AppsV1(), c.Client().BatchV1()
	for _, err := range []error{
		apps.Deployments(namespace).DeleteCollection(b.Context(), opts, metav1.ListOptions{}),
		apps.StatefulSets(namespace).DeleteCollection(b.Context(), opts, metav1.ListOptions{}),
		apps.DaemonSets(namespace).DeleteCollection(b.Context(), opts, metav1.ListOptions{}),
		batch.Jobs(namespace).DeleteCollection(b.Context(), opts, metav1.ListOptions{}),
	} {
		if err != nil {
			b.Fatal(err)
		}
	}
	for {
		sets, err := apps.ReplicaSets(namespace).List(b.Context(), metav1.ListOptions{})
		if err != nil {
			b.Fatal(err)
		}
		pods, err := c.Client().CoreV1().Pods(namespace).List(b.Context(), metav1.ListOptions{})
		if err != nil {
			b.Fatal(err)
		}
		if len(sets.Items)+len(pods.Items) == 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}
