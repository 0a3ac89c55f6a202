// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/ordered-helm/helm/test/cluster"
)

// unthrottled returns a client without a rate limit. It sends a first request to open its
// connection.
func unthrottled(b *testing.B, c *cluster.Cluster) kubernetes.Interface {
	b.Helper()
	config := c.Config()
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err == nil {
		_, err = client.Discovery().ServerVersion()
	}
	if err != nil {
		b.Fatal(err)
	}
	return client
}

// byHand deploys a graph of Deployments without Helm, with one watch. It creates each
// Deployment as soon as all its dependencies are Available. Its time is the minimum that the
// cluster needs.
func byHand(ctx context.Context, client kubernetes.Interface, namespace string, g graph) error {
	deployments := client.AppsV1().Deployments(namespace)
	list, err := deployments.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	w, err := deployments.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return err
	}
	defer w.Stop()
	creating, creatingCtx := errgroup.WithContext(ctx)
	progress := g.begin()
	for ready := progress.first(); ; {
		for _, n := range ready {
			creating.Go(func() error {
				_, err := deployments.Create(creatingCtx, n.deployment(), metav1.CreateOptions{})
				return err
			})
		}
		if progress.left == 0 {
			return creating.Wait()
		}
		select {
		case event, open := <-w.ResultChan():
			if !open {
				return errors.Join(fmt.Errorf("the watch ended when %d were not available", progress.left), creating.Wait())
			}
			ready = nil
			if d, ok := event.Object.(*appsv1.Deployment); ok && isAvailable(d) {
				ready = progress.done(d.Name)
			}
		case <-creatingCtx.Done():
			return errors.Join(creatingCtx.Err(), creating.Wait())
		}
	}
}

func isAvailable(d *appsv1.Deployment) bool {
	return d.Status.AvailableReplicas == 1 && d.Status.ObservedGeneration == d.Generation
}

// deployment returns the Deployment of a node, as in the charts.
func (n node) deployment() *appsv1.Deployment {
	labels := map[string]string{"app": n.name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: n.name},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{"devcluster/after": n.after.String()}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
			},
		},
	}
}
