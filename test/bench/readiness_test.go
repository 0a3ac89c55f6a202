// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/ordered-helm/helm/test/cluster"
)

// chained is the number of pods in the chain of BenchmarkReadinessLatency.
const chained = 200

// BenchmarkReadinessLatency installs a chain of pods. It reports the median and the maximum of
// the time between the readiness of a pod and the creation of the next pod, in milliseconds:
// from the response to the write that made the pod ready to the arrival of the create request
// for the next pod, both in the audit log. A negative time is possible, because watchers can
// receive a write before the response is logged. For comparison, it does the same without
// Helm, with one watch.
//
// It also prints the requests of Ordered Helm, by verb and resource.
func BenchmarkReadinessLatency(b *testing.B) {
	c := cluster.Shared(b)
	client := unthrottled(b, c)
	helm, chart := ours(b, c), writeChart(b, podChain(chained))
	for _, tool := range []struct {
		name string
		work func(ctx context.Context, namespace string) error
	}{
		{"hand", func(ctx context.Context, ns string) error { return podsByHand(ctx, client, ns, chained) }},
		{"ours", func(ctx context.Context, ns string) error {
			_, err := helm.installs(ctx, chart, ns)
			return err
		}},
	} {
		namespace, mark := c.Namespace(b), c.AuditMark(b)
		if err := tool.work(b.Context(), namespace); err != nil {
			b.Fatalf("%s: %v", tool.name, err)
		}
		gaps := readyToCreate(b, c, mark, namespace)
		if len(gaps) != chained-1 {
			b.Fatalf("%s: %d gaps were found, want %d", tool.name, len(gaps), chained-1)
		}
		b.ReportMetric(milliseconds(slices.Sorted(slices.Values(gaps))[len(gaps)/2]), tool.name+"-median-ms")
		b.ReportMetric(milliseconds(slices.Max(gaps)), tool.name+"-worst-ms")
		if tool.name == "ours" {
			requests := requestsOf(b, c, mark, namespace)
			b.ReportMetric(float64(len(requests))/chained, "requests/node")
			b.Log("\n" + table(requests, chained))
		}
	}
	b.ReportMetric(0, "ns/op")
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func podName(i int) string { return fmt.Sprintf("p%03d", i) }

// podChain returns a template of pods, each in a layer after the previous one.
func podChain(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: %s\n  annotations:\n    helm.sh/layer: l%d\n", podName(i), i)
		if i > 0 {
			fmt.Fprintf(&text, "    helm.sh/depends-on/layers: l%d\n", i-1)
		}
		text.WriteString("spec: {containers: [{name: c, image: i}]}\n")
	}
	return text.String()
}

// podsByHand creates the chain of pods without Helm, with one watch.
func podsByHand(ctx context.Context, client kubernetes.Interface, namespace string, n int) error {
	pods := client.CoreV1().Pods(namespace)
	w, err := pods.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	defer w.Stop()
	for i := range n {
		_, err := pods.Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: podName(i)},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		for ready := false; !ready; {
			event, open := <-w.ResultChan()
			if !open {
				return fmt.Errorf("the watch ended at pod %d", i)
			}
			pod, ok := event.Object.(*corev1.Pod)
			ready = ok && pod.Name == podName(i) && isReady(pod)
		}
	}
	return nil
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// readyToCreate returns, for each pod of the chain except the last, the time between the
// readiness of the pod and the create request for the next pod.
func readyToCreate(b *testing.B, c *cluster.Cluster, mark cluster.AuditMark, namespace string) []time.Duration {
	b.Helper()
	ready, created := map[string]time.Time{}, map[string]time.Time{}
	c.AuditAfter(b, mark, func(e cluster.Event) {
		if e.Namespace != namespace || e.Resource != "pods" || e.Stage != cluster.StageComplete || e.Code >= 300 ||
			e.Subresource != "" && e.Subresource != "status" || e.Verb == "delete" || len(e.Response) == 0 {
			return
		}
		var pod corev1.Pod
		if err := e.DecodeResponse(&pod); err != nil {
			b.Fatal(err)
		}
		switch {
		case e.Verb == "create" && e.Subresource == "":
			created[pod.Name] = e.Received
		case e.Subresource == "status" && isReady(&pod) && ready[pod.Name].IsZero():
			ready[pod.Name] = e.Completed
		}
	})
	var gaps []time.Duration
	for i := range chained - 1 {
		from, to := ready[podName(i)], created[podName(i+1)]
		if !from.IsZero() && !to.IsZero() {
			gaps = append(gaps, to.Sub(from))
		}
	}
	return gaps
}
