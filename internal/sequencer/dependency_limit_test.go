// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import (
	"errors"
	"fmt"
	"testing"
)

// numbered returns n names.
func numbered(prefix string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s%d", prefix, i)
	}
	return names
}

// layered returns a chart with n layers. Each depends on a number of previous layers, or on
// layers that do not exist if there are not enough.
func layered(n, each int) Input {
	in := Input{Root: &Chart{Name: "big", Sequenced: true}, Namespace: "test"}
	for i, layer := range numbered("l", n) {
		var list []any
		for d := range each {
			list = append(list, fmt.Sprintf("l%d", i-1-d))
		}
		in.Resources = append(in.Resources, Resource{Chart: "big", File: "big/templates/" + layer + ".yaml", Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
				"name": layer, "annotations": map[string]any{"helm.sh/layer": layer, "depends-on.helm.sh/layers": list},
			},
		}})
	}
	return in
}

// siblings returns a chart with n subcharts. Each depends on all previous ones.
func siblings(n int) Input {
	root := &Chart{Name: "big", Sequenced: true}
	names := numbered("s", n)
	for i, name := range names {
		root.Subcharts = append(root.Subcharts, &Chart{Name: name})
		root.Dependencies = append(root.Dependencies, Dependency{Name: name, DependsOn: names[:i]})
	}
	return Input{Root: root}
}

// tagged returns a chart in which half of the subcharts depend on the other half by tags.
func tagged(n, tags int) Input {
	root := &Chart{Name: "big", Sequenced: true}
	for i, name := range numbered("s", n) {
		root.Subcharts = append(root.Subcharts, &Chart{Name: name})
		d := Dependency{Name: name}
		if i < n/2 {
			d.Tags = numbered("t", tags)
		} else {
			d.DependsOn = numbered("t", tags)
		}
		root.Dependencies = append(root.Dependencies, d)
	}
	return Input{Root: root}
}

// annotated returns a chart that depends on subcharts by tags.
func annotated(n, tags int) Input {
	in := tagged(n, tags)
	in.Root.DependsOnSubcharts = numbered("t", tags)
	for i := range in.Root.Dependencies {
		in.Root.Dependencies[i] = Dependency{Name: fmt.Sprintf("s%d", i), Tags: numbered("t", tags)}
	}
	return in
}

func TestNumberOfDependenciesIsLimited(t *testing.T) {
	tests := []struct {
		name string
		in   Input
		file string // the file in the error, or "" if the limit is not exceeded
	}{
		{"layers, as many as there may be", layered(1000, 250), ""},
		{"layers, a million", layered(1000, 1000), "big/templates/l250.yaml"},
		{"subcharts, as many as there may be", siblings(707), ""},
		{"subcharts, a million", siblings(1415), "big/Chart.yaml"},
		{"subcharts by tags", tagged(1000, 1000), "big/Chart.yaml"},
		{"subcharts of a chart's own resources", annotated(1000, 1000), "big/Chart.yaml"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Build(tt.in)
			var many *DependenciesError
			if is := errors.As(err, &many); is != (tt.file != "") || !is && err != nil {
				t.Fatalf("got %v", err)
			}
			if many == nil {
				if len(p.declarations) > MaxDependencies {
					t.Errorf("there are %d declarations", len(p.declarations))
				}
				return
			}
			if many.File != tt.file {
				t.Errorf("got %v, want %s", many, tt.file)
			}
			in := Inspect(tt.in)
			if in.Plan == nil || len(in.Plan.declarations) > MaxDependencies {
				t.Errorf("Inspect goes on with %+v", in.Plan)
			}
			if said := errorsOf[*DependenciesError](in.Errors); said != 1 {
				t.Errorf("Inspect says so %d times", said)
			}
		})
	}
}

func errorsOf[E error](problems []error) int {
	n := 0
	for _, err := range problems {
		var is E
		if errors.As(err, &is) {
			n++
		}
	}
	return n
}
