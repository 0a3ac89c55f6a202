// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package plans builds deployment graphs for tests from short texts, and compares them with expected texts.
package plans

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/sequencer"
)

// V3 returns a chart whose declarations apply.
func V3(name string, subcharts ...*sequencer.Chart) *sequencer.Chart {
	return &sequencer.Chart{Name: name, Sequenced: true, Subcharts: subcharts}
}

// V2 returns a chart whose declarations do not apply.
func V2(name string, subcharts ...*sequencer.Chart) *sequencer.Chart {
	return &sequencer.Chart{Name: name, Subcharts: subcharts}
}

// Dependency returns an entry of the dependencies: "name" or "name as alias", and the names that
// it depends on.
func Dependency(name string, dependsOn ...string) sequencer.Dependency {
	name, alias, _ := strings.Cut(name, " as ")
	return sequencer.Dependency{Name: name, Alias: alias, DependsOn: dependsOn}
}

// Tagged adds tags to a dependency.
func Tagged(d sequencer.Dependency, tags ...string) sequencer.Dependency {
	d.Tags = tags
	return d
}

// Disabled disables a dependency.
func Disabled(d sequencer.Dependency) sequencer.Dependency {
	d.Disabled = true
	return d
}

// WithDependencies sets the dependencies of a chart.
func WithDependencies(c *sequencer.Chart, dependencies ...sequencer.Dependency) *sequencer.Chart {
	c.Dependencies = dependencies
	return c
}

// OwnAfter sets the subcharts that must be ready before the chart's own resources.
func OwnAfter(c *sequencer.Chart, names ...string) *sequencer.Chart {
	c.DependsOnSubcharts = names
	return c
}

// Resource parses a resource of the form "chart Kind/name layer=a after=b,c".
func Resource(text string) sequencer.Resource {
	fields := strings.Fields(text)
	kind, name, _ := strings.Cut(fields[1], "/")
	annotations := map[string]any{}
	metadata := map[string]any{"name": name, "annotations": annotations}
	for _, f := range fields[2:] {
		key, value, _ := strings.Cut(f, "=")
		switch key {
		case "layer":
			annotations["helm.sh/layer"] = value
		case "after":
			annotations["depends-on.helm.sh/layers"] = value
		case "ns":
			metadata["namespace"] = value
		default:
			annotations[key] = value
		}
	}
	return sequencer.Resource{
		Chart: fields[0], File: fields[0] + "/templates/" + name + ".yaml",
		Object: map[string]any{"apiVersion": "v1", "kind": kind, "metadata": metadata},
	}
}

// Resources parses resources as Resource does.
func Resources(texts ...string) []sequencer.Resource {
	resources := make([]sequencer.Resource, len(texts))
	for i, text := range texts {
		resources[i] = Resource(text)
	}
	return resources
}

// ParseResource parses a resource of the chart "shop" from YAML.
func ParseResource(t *testing.T, text string) sequencer.Resource {
	t.Helper()
	var o map[string]any
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return sequencer.Resource{Chart: "shop", File: "shop/templates/all.yaml", Object: o}
}

// Build returns the plan of the resources of a chart in the namespace "default".
func Build(t *testing.T, root *sequencer.Chart, resources []sequencer.Resource) *sequencer.Plan {
	t.Helper()
	p, err := sequencer.Build(sequencer.Input{Root: root, Resources: resources, Namespace: "default"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Describe returns each node as "level ID [resources] < dependencies".
func Describe(p *sequencer.Plan) string {
	var b strings.Builder
	for i, n := range p.Nodes {
		var resources, after []string
		for _, r := range n.Resources {
			resources = append(resources, r.ID.String())
		}
		for _, d := range p.Dependencies(i) {
			after = append(after, p.Nodes[d].ID())
		}
		fmt.Fprintf(&b, "%d %s [%s]", n.Level, n.ID(), strings.Join(resources, " "))
		if len(after) > 0 {
			fmt.Fprintf(&b, " < %s", strings.Join(after, " "))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// Lines joins lines to a text as Describe returns it.
func Lines(texts ...string) string { return strings.Join(texts, "\n") + "\n" }

// ExpectPlan checks that Describe returns want.
func ExpectPlan(t *testing.T, p *sequencer.Plan, want string) {
	t.Helper()
	if got := Describe(p); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// ExpectWarnings checks that the plan has as many warnings as there are parts, and that each contains its part.
func ExpectWarnings(t *testing.T, p *sequencer.Plan, parts ...string) {
	t.Helper()
	if len(p.Warnings) != len(parts) {
		t.Fatalf("warnings %q, want %d", p.Warnings, len(parts))
	}
	for i, part := range parts {
		if !strings.Contains(p.Warnings[i].String(), part) {
			t.Errorf("the warning %q does not say %q", p.Warnings[i], part)
		}
	}
}

// Node returns v, which must be a node.
func Node(v sequencer.Vertex) *sequencer.Node { return v.(*sequencer.Node) }

// OfNodes returns an argument of execute.Plan that calls deploy, for a plan without steps.
func OfNodes(deploy func(ctx context.Context, n, after *sequencer.Node) error) func(ctx context.Context, v, after sequencer.Vertex) error {
	return func(ctx context.Context, v, after sequencer.Vertex) error {
		if after == nil {
			return deploy(ctx, Node(v), nil)
		}
		return deploy(ctx, Node(v), Node(after))
	}
}
