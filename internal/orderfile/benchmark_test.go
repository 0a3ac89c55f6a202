// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package orderfile

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkResource evaluates 1,000 rules for 10,000 resources.
func BenchmarkResource(b *testing.B) {
	const charts, resourcesOfChart, rules = 100, 100, 1000
	kinds := []string{"ConfigMap", "Secret", "Service", "Deployment", "StatefulSet"}
	nodes := []ChartNode{{Path: "shop"}}
	var all []Resource
	for i := range charts {
		chart := fmt.Sprintf("shop/chart-%d", i)
		nodes = append(nodes, ChartNode{Path: chart})
		for j := range resourcesOfChart {
			all = append(all, Resource{
				Chart: chart, Group: "apps", Kind: kinds[j%len(kinds)], Name: fmt.Sprintf("release-chart-%d-%d", i, j),
				Labels: map[string]string{"app": fmt.Sprintf("app-%d", j)},
			})
		}
	}
	for name, rule := range map[string]func(i int) string{
		"charts": func(i int) string {
			return fmt.Sprintf("chart: chart-%d, kind: %s", i%charts, kinds[i%len(kinds)])
		},
		"names":        func(i int) string { return fmt.Sprintf("name: release-chart-%d-%d", i%charts, i) },
		"namePatterns": func(i int) string { return fmt.Sprintf("name: '*-chart-%d-%d*'", i%charts, i) },
		"nameSuffixes": func(i int) string { return fmt.Sprintf("name: 'release-*-%d'", i) },
		"labels":       func(i int) string { return fmt.Sprintf("labels: {app: app-%d}", i) },
	} {
		var text strings.Builder
		text.WriteString("resources:\n")
		for i := range rules {
			fmt.Fprintf(&text, "- {match: {%s}, layer: layer-%d}\n", rule(i), i%10)
		}
		set := newSet(b, testFile{"shop", text.String()})
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				e := set.Evaluate(nodes)
				for _, r := range all {
					if _, err := e.Resource(r); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
