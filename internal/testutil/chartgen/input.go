// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartgen

import (
	"math/rand/v2"

	"github.com/ordered-helm/helm/internal/sequencer"
)

// Namespace is the namespace of the releases in Input and Render.
const Namespace = "test"

// Input returns the same input for sequencer.Build as loading and rendering the chart would,
// without doing so.
func (c *Chart) Input() sequencer.Input {
	in := sequencer.Input{Namespace: Namespace}
	in.Root = c.tree().input(&in)
	return in
}

func (t *chartCopy) input(in *sequencer.Input) *sequencer.Chart {
	c := &sequencer.Chart{Name: t.title, Sequenced: t.Sequenced(), DependsOnSubcharts: t.OwnAfter}
	for _, r := range t.Resources {
		annotations := map[string]any{}
		if r.Layer != "" {
			annotations["helm.sh/layer"] = r.Layer
		}
		if len(r.After) > 0 {
			list := make([]any, len(r.After))
			for i, name := range r.After {
				list[i] = name
			}
			annotations["depends-on.helm.sh/layers"] = list
		}
		in.Resources = append(in.Resources, sequencer.Resource{
			Chart: t.path, File: t.dir + "/templates/all.yaml",
			Object: map[string]any{
				"apiVersion": "v1", "kind": r.Kind,
				"metadata": map[string]any{"name": t.name(r), "annotations": annotations},
			},
		})
	}
	for i, d := range t.Dependencies {
		c.Dependencies = append(c.Dependencies, sequencer.Dependency{
			Name: d.Chart.Name, Alias: d.Alias, Tags: d.Tags, DependsOn: d.After, Disabled: d.Disabled,
		})
		if sub := t.subs[i]; sub != nil {
			c.Subcharts = append(c.Subcharts, sub.input(in))
		}
	}
	return c
}

// Shuffle changes the order of everything in the input of which the plan must not depend.
func Shuffle(in sequencer.Input, r *rand.Rand) {
	r.Shuffle(len(in.Resources), func(i, j int) { in.Resources[i], in.Resources[j] = in.Resources[j], in.Resources[i] })
	var subcharts func(c *sequencer.Chart)
	subcharts = func(c *sequencer.Chart) {
		r.Shuffle(len(c.Subcharts), func(i, j int) { c.Subcharts[i], c.Subcharts[j] = c.Subcharts[j], c.Subcharts[i] })
		r.Shuffle(len(c.Dependencies), func(i, j int) {
			c.Dependencies[i], c.Dependencies[j] = c.Dependencies[j], c.Dependencies[i]
		})
		for _, sub := range c.Subcharts {
			subcharts(sub)
		}
	}
	subcharts(in.Root)
}
