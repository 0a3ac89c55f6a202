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

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/ordered-helm/helm/test/bench/launch"
	"github.com/ordered-helm/helm/test/bench/report"
	"github.com/ordered-helm/helm/test/cluster"
)

// BenchmarkWait runs `helm upgrade --wait` for a release that is ready and does not change.
func BenchmarkWait(b *testing.B) {
	const n = 100
	c := cluster.Shared(b)
	chart := writeFiles(b, map[string]string{"Chart.yaml": plainChart, "templates/all.yaml": unordered(n)})
	client := c.Client()
	var tools []tool
	for _, t := range versionsOfHelm(b, c) {
		tools = append(tools, tool{t.name, []step{
			deployed(ours(b, c), client, chart, n),
			t.program.does(report.Noop, "upgrade", "rel", chart, "--wait"),
		}, t.program.agent})
	}
	measure(b, c, workload{
		name: report.WaitName, title: fmt.Sprintf("`--wait` on %d ready Deployments", n),
		about: "`upgrade --wait` of a release of Deployments that are all ready and do not change.",
		base:  []string{report.Stock}, tools: tools,
	})
}

// unordered returns a template of n Deployments without an order.
func unordered(n int) string {
	var text strings.Builder
	for i := range n {
		text.WriteString(node{name: name(i)}.manifest())
	}
	return text.String()
}

// deployed returns an uncounted step that installs a chart of n Deployments and waits until
// they are available.
func deployed(p program, client kubernetes.Interface, chart string, n int) step {
	install := p.does(report.Install, "install", "rel", chart)
	return step{name: report.Install, uncounted: true, do: func(ctx context.Context, namespace string) (launch.Usage, error) {
		if took, err := install.do(ctx, namespace); err != nil {
			return took, err
		}
		return launch.Usage{}, wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			list, err := client.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
			if err != nil {
				return false, err
			}
			return len(list.Items) == n && !slices.ContainsFunc(list.Items, func(d appsv1.Deployment) bool { return !isAvailable(&d) }), nil
		})
	}}
}
