// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/ordered-helm/helm/test/bench/report"
	"github.com/ordered-helm/helm/test/cluster"
)

// BenchmarkHooks runs hook Jobs of equal weight, which take one second each, in a chart with
// runHooksInParallel. Stock Helm, which runs them sequentially, is left out if there are many.
func BenchmarkHooks(b *testing.B) {
	for _, n := range []int{20, 200} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c := cluster.Shared(b)
			chart, client := hookChart(b, n), unthrottled(b, c)
			helm, plain := ours(b, c), stock(b, c)
			install := []string{"install", "rel", chart}
			tools := []tool{
				{report.Ours, []step{helm.does(report.Install, install...)}, helm.agent},
				{name: report.Hand, steps: []step{{name: report.Install, do: inProcess(func(ctx context.Context, namespace string) error {
					return jobsWithoutHelm{n: n, pods: map[string]string{"devcluster/pod": "complete", "devcluster/after": "1s"}}.run(ctx, client, namespace)
				})}}},
			}
			about := "Each Job takes a second. All of them are hooks of equal weight in a chart with `runHooksInParallel`. "
			if n <= 20 {
				newer := helm4(b, c)
				tools = append(tools, tool{report.Stock, []step{plain.does(report.Install, install...)}, plain.agent},
					tool{report.Helm4, []step{newer.does(report.Install, install...)}, newer.agent})
				about += "Stock and Helm 4 run them one at a time."
			} else {
				about += "Stock and Helm 4, which run them one at a time, are omitted: they take several minutes."
			}
			measure(b, c, workload{
				name: report.HooksName(n), title: fmt.Sprintf("%d hook Jobs", n), about: about,
				base: []string{report.Hand}, tools: tools,
			})
		})
	}
}

// hookChart writes a chart with n Jobs that are pre-install hooks of one weight.
func hookChart(b *testing.B, n int) string {
	b.Helper()
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "---\napiVersion: batch/v1\nkind: Job\nmetadata:\n  name: %s\n  annotations: {helm.sh/hook: pre-install}\n"+
			"spec:\n  template:\n    metadata: {annotations: {devcluster/pod: complete, devcluster/after: 1s}}\n"+
			"    spec: {restartPolicy: Never, containers: [{name: c, image: i}]}\n", name(i))
	}
	return writeFiles(b, map[string]string{"Chart.yaml": plainChart + "runHooksInParallel: true\n", "templates/all.yaml": text.String()})
}

// jobsWithoutHelm are Jobs that are created in parallel, without Helm.
type jobsWithoutHelm struct {
	// prefix is the prefix of their names, and n their number.
	prefix string
	n      int
	// pods contains the annotations of their pods.
	pods map[string]string
}

// run creates the Jobs, and waits until all are complete. Its time is the minimum that the
// cluster needs.
func (j jobsWithoutHelm) run(ctx context.Context, client kubernetes.Interface, namespace string) error {
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
	for i := range j.n {
		creating.Go(func() error {
			_, err := jobs.Create(creatingCtx, &batchv1.Job{
				ObjectMeta: metav1.ObjectMeta{Name: j.prefix + name(i)},
				Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Annotations: j.pods},
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
		if job, ok := e.Object.(*batchv1.Job); ok && strings.HasPrefix(job.Name, j.prefix) && job.Status.CompletionTime != nil {
			complete[job.Name] = true
		}
		if len(complete) == j.n {
			return nil
		}
	}
	return fmt.Errorf("the watch ended when %d of %d Jobs were complete", len(complete), j.n)
}
