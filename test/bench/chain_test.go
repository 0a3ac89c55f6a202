// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package bench measures against other programs and against the cluster's own
// limit, everything in one run and in turn, so that only ratios count.
package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }

// rounds is how often each contestant runs after a warm-up.
const rounds = 5

// BenchmarkChain deploys Deployments in a chain, each after the one before is
// Available: with our binary in one command, against the sum of the same done
// by hand over a warm client (create, watch until Available, next) and stock
// Helm's install of the same objects without any order or wait.
func BenchmarkChain(b *testing.B) {
	for _, n := range []int{10, 30} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c := cluster.Shared(b)
			chart := chainChart(b, n)
			client := unthrottled(b, c)
			contestants := []contestant{
				{"ours", func(ctx context.Context, ns string) error {
					return run(ctx, b, c, binaries.Get(b).Helm, "install", "chain", chart, "-n", ns, "--wait=ordered", "--readiness-timeout", "1m")
				}},
				{"hand", func(ctx context.Context, ns string) error { return byHand(ctx, client, ns, n) }},
				{"stock", func(ctx context.Context, ns string) error {
					return run(ctx, b, c, binaries.Get(b).Stock, "install", "chain", chart, "-n", ns)
				}},
			}
			times := inTurn(b, c, contestants)
			ours, hand, stock := median(times["ours"]), median(times["hand"]), median(times["stock"])
			b.ReportMetric(ours.Seconds(), "ours-s")
			b.ReportMetric(hand.Seconds(), "hand-s")
			b.ReportMetric(stock.Seconds(), "stock-s")
			b.ReportMetric(ours.Seconds()/(hand+stock).Seconds(), "ours/(hand+stock)")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// contestant is one way to do the work, in a namespace of its own.
type contestant struct {
	name string
	work func(ctx context.Context, namespace string) error
}

// inTurn runs the contestants A B C A B C, the first round uncounted.
func inTurn(b *testing.B, c *cluster.Cluster, contestants []contestant) map[string][]time.Duration {
	b.Helper()
	times := map[string][]time.Duration{}
	for round := range rounds + 1 {
		for _, con := range contestants {
			namespace := c.Namespace(b)
			begin := time.Now()
			if err := con.work(b.Context(), namespace); err != nil {
				b.Fatalf("%s: %v", con.name, err)
			}
			if took := time.Since(begin); round > 0 {
				times[con.name] = append(times[con.name], took)
			}
			removeAll(b, c, namespace)
		}
	}
	return times
}

// removeAll takes the Deployments and Jobs away, so that rounds do not add up.
func removeAll(b *testing.B, c *cluster.Cluster, namespace string) {
	b.Helper()
	now := int64(0)
	err := c.Client().AppsV1().Deployments(namespace).DeleteCollection(b.Context(), metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	background := metav1.DeletePropagationBackground
	err = c.Client().BatchV1().Jobs(namespace).DeleteCollection(b.Context(), metav1.DeleteOptions{PropagationPolicy: &background}, metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	for {
		pods, err := c.Client().CoreV1().Pods(namespace).List(b.Context(), metav1.ListOptions{})
		if err != nil {
			b.Fatal(err)
		}
		if len(pods.Items) == 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func median(times []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[len(sorted)/2]
}

func run(ctx context.Context, b *testing.B, c *cluster.Cluster, binary string, args ...string) error {
	b.Helper()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig())
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", filepath.Base(binary), strings.Join(args, " "), err, out)
	}
	return nil
}

func unthrottled(b *testing.B, c *cluster.Cluster) kubernetes.Interface {
	b.Helper()
	config := c.Config()
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	return client
}

// chainChart makes a chart of n Deployments in n layers, in legal form, so that
// stock Helm installs it too.
func chainChart(b *testing.B, n int) string {
	b.Helper()
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: %s\n  annotations:\n    helm.sh/layer: l%d\n", name(i), i)
		if i > 0 {
			fmt.Fprintf(&text, "    depends-on.helm.sh/layers: l%d\n", i-1)
		}
		fmt.Fprintf(&text, "spec:\n  selector: {matchLabels: {app: %[1]s}}\n  template:\n    metadata: {labels: {app: %[1]s}}\n"+
			"    spec: {containers: [{name: c, image: i}]}\n", name(i))
	}
	return writeChart(b, text.String())
}

func name(i int) string { return fmt.Sprintf("d%03d", i) }

// byHand is the limit: what the cluster itself needs.
func byHand(ctx context.Context, client kubernetes.Interface, namespace string, n int) error {
	for i := range n {
		labels := map[string]string{"app": name(i)}
		created, err := client.AppsV1().Deployments(namespace).Create(ctx, &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: name(i)},
			Spec: appsv1.DeploymentSpec{
				Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
				},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		if err := available(ctx, client, created); err != nil {
			return err
		}
	}
	return nil
}

func available(ctx context.Context, client kubernetes.Interface, d *appsv1.Deployment) error {
	w, err := client.AppsV1().Deployments(d.Namespace).Watch(ctx, metav1.ListOptions{
		ResourceVersion: d.ResourceVersion, FieldSelector: "metadata.name=" + d.Name,
	})
	if err != nil {
		return err
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		if now, ok := e.Object.(*appsv1.Deployment); ok && now.Status.AvailableReplicas == 1 && now.Status.ObservedGeneration == now.Generation {
			return nil
		}
	}
	return fmt.Errorf("the watch of %s ended", d.Name)
}
