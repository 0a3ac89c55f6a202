// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/cluster"
)

// podOfOneSecond is what the pods of the Jobs are annotated with.
func podOfOneSecond() map[string]string {
	return map[string]string{"devcluster/pod": "complete", "devcluster/after": "1s"}
}

// BenchmarkHooks20 runs 20 Jobs of one second, which are hooks of one weight in a
// chart with runHooksInParallel: with our binary, with stock Helm, which runs them
// one after the other, and created and watched by hand.
func BenchmarkHooks20(b *testing.B) {
	const n = 20
	c := cluster.Shared(b)
	chart := hookChart(b, n)
	client := unthrottled(b, c)
	times := inTurn(b, c, []contestant{
		{"ours", func(ctx context.Context, ns string) error {
			return run(ctx, b, c, binaries.Get(b).Helm, "install", "hooks", chart, "-n", ns)
		}},
		{"hand", func(ctx context.Context, ns string) error { return jobsByHand(ctx, client, ns, n) }},
		{"stock", func(ctx context.Context, ns string) error {
			return run(ctx, b, c, binaries.Get(b).Stock, "install", "hooks", chart, "-n", ns)
		}},
	})
	ours, hand, stock := median(times["ours"]), median(times["hand"]), median(times["stock"])
	b.ReportMetric(ours.Seconds(), "ours-s")
	b.ReportMetric(hand.Seconds(), "hand-s")
	b.ReportMetric(stock.Seconds(), "stock-s")
	b.ReportMetric(ours.Seconds()/hand.Seconds(), "ours/hand")
	b.ReportMetric(stock.Seconds()/ours.Seconds(), "stock/ours")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkHooks200 runs 200 Jobs of one second, and says what that takes of the
// machine and of the server.
func BenchmarkHooks200(b *testing.B) {
	const n = 200
	c := cluster.Shared(b)
	namespace := c.Namespace(b)
	cmd := exec.CommandContext(b.Context(), binaries.Get(b).Helm, "install", "hooks", hookChart(b, n), "-n", namespace)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig())
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	requests := requestsOf(b, c, "Helm/", namespace)
	b.ReportMetric(peakMemory(cmd.ProcessState), "peak-MiB")
	b.ReportMetric((cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), "cpu-s")
	b.ReportMetric(float64(len(requests)), "requests")
	b.ReportMetric(0, "ns/op")
	b.Log("\n" + table(requests, n))
	removeAll(b, c, namespace)
}

// hookChart makes a chart of n Jobs that are pre-install hooks of one weight.
func hookChart(b *testing.B, n int) string {
	b.Helper()
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "---\napiVersion: batch/v1\nkind: Job\nmetadata:\n  name: %s\n  annotations: {helm.sh/hook: pre-install}\n"+
			"spec:\n  template:\n    metadata: {annotations: {devcluster/pod: complete, devcluster/after: 1s}}\n"+
			"    spec: {restartPolicy: Never, containers: [{name: c, image: i}]}\n", name(i))
	}
	dir := writeChart(b, text.String())
	metadata := "apiVersion: v2\nname: hooks\nversion: 0.1.0\nrunHooksInParallel: true\n"
	if err := os.WriteFile(filepath.Join(dir, "Chart.yaml"), []byte(metadata), 0o600); err != nil {
		b.Fatal(err)
	}
	return dir
}

// jobsByHand is the limit: what the cluster itself needs for n Jobs at once.
func jobsByHand(ctx context.Context, client kubernetes.Interface, namespace string, n int) error {
	jobs := client.BatchV1().Jobs(namespace)
	list, err := jobs.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	w, err := jobs.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return err
	}
	defer w.Stop()
	creating, creatingCtx := errgroup.WithContext(ctx)
	for i := range n {
		creating.Go(func() error {
			_, err := jobs.Create(creatingCtx, &batchv1.Job{
				ObjectMeta: metav1.ObjectMeta{Name: name(i)},
				Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Annotations: podOfOneSecond()},
					Spec:       corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
				}},
			}, metav1.CreateOptions{})
			return err
		})
	}
	if err := creating.Wait(); err != nil {
		return err
	}
	complete := map[string]bool{}
	for e := range w.ResultChan() {
		if job, ok := e.Object.(*batchv1.Job); ok && job.Status.CompletionTime != nil {
			complete[job.Name] = true
		}
		if len(complete) == n {
			return nil
		}
	}
	return fmt.Errorf("the watch ended when %d of %d Jobs were complete", len(complete), n)
}
