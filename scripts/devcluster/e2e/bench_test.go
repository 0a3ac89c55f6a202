// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// BenchmarkDeploymentChain creates ten Deployments, each when the previous one is available.
// It uses a plain watch, so it measures the lower bound for any tool.
func BenchmarkDeploymentChain(b *testing.B) {
	c := cluster(b)
	namespace := c.namespace(b)
	round := 0
	for b.Loop() {
		for i := range 10 {
			createAndWatch(b, c.client, deployment(namespace, fmt.Sprintf("chain-%d-%d", round, i)))
		}
		round++
	}
}

func deployment(namespace, name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       podSpec(),
			},
		},
	}
}

func createAndWatch(tb testing.TB, client kubernetes.Interface, d *appsv1.Deployment) {
	tb.Helper()
	deployments := client.AppsV1().Deployments(d.Namespace)
	created, err := deployments.Create(tb.Context(), d, metav1.CreateOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	events, err := deployments.Watch(tb.Context(), metav1.ListOptions{
		FieldSelector:   "metadata.name=" + d.Name,
		ResourceVersion: created.ResourceVersion,
	})
	if err != nil {
		tb.Fatal(err)
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		if now, ok := event.Object.(*appsv1.Deployment); ok && event.Type != watch.Deleted && now.Status.AvailableReplicas == 1 {
			return
		}
	}
	tb.Fatalf("the watch of %s ended", d.Name)
}
