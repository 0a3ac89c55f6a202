// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/client-go/kubernetes"

	"github.com/ordered-helm/helm/test/bench/report"
	"github.com/ordered-helm/helm/test/cluster"
)

// orderBase contains the tools with which ordered installs are compared: the deployment
// without Helm, plus stock Helm, which stands for the work of Helm apart from waiting.
var orderBase = []string{report.Hand, report.Stock}

// BenchmarkChain installs chains of Deployments, each of which is created when the previous
// one is Available.
func BenchmarkChain(b *testing.B) {
	for _, n := range []int{10, 30, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c, g := cluster.Shared(b), chain(n)
			chart := g.layersChart(b)
			tools := inOrder(b, c, chart, g)
			plain, newer := stock(b, c), helm4(b, c)
			tools = append(tools,
				tool{report.Waiting, []step{plain.does(report.Install, "install", "rel", chart, "--wait")}, plain.agent},
				tool{report.Helm4Waiting, []step{newer.does(report.Install, "install", "rel", chart, "--wait=watcher")}, newer.agent})
			measure(b, c, workload{
				name: report.ChainName(n), title: fmt.Sprintf("Chain of %d Deployments", n),
				about: "Each Deployment is created after the previous one is Available; pods are ready immediately. Stock installs the same " +
					"objects without waiting, and also with `--wait`, which creates all objects at the same time and waits for all of them; so does Helm 4.",
				base: orderBase, tools: tools,
			})
		})
	}
}

// BenchmarkSubcharts installs a chart of subcharts with random dependencies.
func BenchmarkSubcharts(b *testing.B) {
	const n = 30
	c, g := cluster.Shared(b), random(n)
	tools := inOrder(b, c, g.subcharts(b), g)
	tools = append(tools, handTool("hand, by levels", unthrottled(b, c), g.levels()))
	measure(b, c, workload{
		name: report.SubchartsName, title: fmt.Sprintf("%d subcharts with random dependencies", n),
		about: "Each subchart is a Deployment, depends on up to three of the eight before it, and has a pod that is ready after " +
			"100 to 600 ms. *hand* needs the time of the critical path. *hand, by levels* starts a level when all Deployments of " +
			"the previous one are Available.",
		base: orderBase, tools: tools,
	})
}

// BenchmarkFanOut installs one Deployment, then a hundred in parallel, then one.
func BenchmarkFanOut(b *testing.B) {
	c, g := cluster.Shared(b), fanOut(100)
	measure(b, c, workload{
		name: report.FanOutName, title: "Fan-out 1–100–1",
		about: "One Deployment, a hundred that depend on it, and one that depends on all of these; pods are ready immediately.",
		base:  orderBase, tools: inOrder(b, c, g.layersChart(b), g),
	})
}

// inOrder returns the tools that deploy a graph: Ordered Helm in order, the deployment without
// Helm, and stock Helm and Helm 4 without order or waiting.
func inOrder(b *testing.B, c *cluster.Cluster, chart string, g graph) []tool {
	b.Helper()
	helm, plain, newer := ours(b, c), stock(b, c), helm4(b, c)
	return []tool{
		{report.Ours, []step{helm.does(report.Install, "install", "rel", chart, "--wait=ordered", "--readiness-timeout", "1m")}, helm.agent},
		handTool(report.Hand, unthrottled(b, c), g),
		{report.Stock, []step{plain.does(report.Install, "install", "rel", chart)}, plain.agent},
		{report.Helm4, []step{newer.does(report.Install, "install", "rel", chart)}, newer.agent},
	}
}

func handTool(name string, client kubernetes.Interface, g graph) tool {
	return tool{name: name, steps: []step{{name: report.Install, do: inProcess(func(ctx context.Context, namespace string) error {
		return byHand(ctx, client, namespace, g)
	})}}}
}
