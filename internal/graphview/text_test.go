// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package graphview_test

import (
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/graphview"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/testutil/golden"
)

// resources parses resources of the form "chart Kind/name layer after,after".
func resources(texts ...string) []sequencer.Resource {
	var all []sequencer.Resource
	for _, text := range texts {
		f := append(strings.Fields(text), "-", "-")
		kind, name, _ := strings.Cut(f[1], "/")
		annotations := map[string]any{}
		if f[2] != "-" {
			annotations["helm.sh/layer"] = f[2]
		}
		if f[3] != "-" {
			annotations["depends-on.helm.sh/layers"] = f[3]
		}
		all = append(all, sequencer.Resource{Chart: f[0], File: f[0] + "/templates/all.yaml", Object: map[string]any{
			"kind": kind, "metadata": map[string]any{"name": name, "annotations": annotations},
		}})
	}
	return all
}

func build(t *testing.T, root *sequencer.Chart, list []sequencer.Resource) *sequencer.Plan {
	t.Helper()
	p, err := sequencer.Build(sequencer.Input{Root: root, Resources: list, Namespace: "default"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTextGolden(t *testing.T) {
	v3 := func(name string, subcharts ...*sequencer.Chart) *sequencer.Chart {
		return &sequencer.Chart{Name: name, Sequenced: true, Subcharts: subcharts}
	}
	foo := v3("foo", v3("nginx"), v3("rabbitmq"), v3("bar"))
	foo.DependsOnSubcharts = []string{"bar", "rabbitmq"}
	foo.Dependencies = []sequencer.Dependency{{Name: "nginx"}, {Name: "rabbitmq"}, {Name: "bar", DependsOn: []string{"nginx", "rabbitmq"}}}
	deep := v3("shop", v3("platform", v3("db")), v3("web", v3("assets")))
	deep.Dependencies = []sequencer.Dependency{{Name: "platform"}, {Name: "web", DependsOn: []string{"platform"}}}
	tests := map[string]*sequencer.Plan{
		"whole":     sequencer.SingleNode("shop"),
		"empty":     build(t, v3("shop"), nil),
		"one":       build(t, v3("shop"), resources("shop ConfigMap/settings")),
		"unlayered": build(t, v3("shop"), resources("shop ConfigMap/settings", "shop Deployment/web")),
		"layers": build(t, v3("app"), resources("app Service/db-service database", "app Deployment/my-app app database,queue",
			"app Deployment/queue-processor queue another-layer", "app Job/migrate - database", "app ConfigMap/rest")),
		"subcharts": build(t, foo, resources("foo ConfigMap/f", "foo/bar ConfigMap/b", "foo/nginx ConfigMap/n", "foo/rabbitmq ConfigMap/r")),
		"deep": build(t, deep, resources("shop/platform ConfigMap/p base", "shop/platform ConfigMap/p2", "shop/platform/db StatefulSet/db db",
			"shop/web Deployment/w front", "shop/web/assets ConfigMap/a", "shop ConfigMap/s")),
		"twins": build(t, v3("shop"), resources("shop Job/ - l", "shop Job/ - l", "shop ConfigMap/c l")),
	}
	for name, plan := range tests {
		t.Run(name, func(t *testing.T) {
			golden.Assert(t, write(t, graphview.View{Plan: plan}, graphview.FormatText), name+".txt")
		})
	}
}
