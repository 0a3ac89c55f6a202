// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/testutil/plans"
)

// TestErrors has a case for each error. The message names the file, the resource, the key
// and the value.
func TestErrors(t *testing.T) {
	three := func() *sequencer.Chart {
		return plans.WithDependencies(plans.V3("shop", plans.V3("nginx"), plans.V3("rabbitmq")), plans.Dependency("nginx"), plans.Dependency("rabbitmq"))
	}
	tests := []struct {
		name      string
		root      *sequencer.Chart
		resources []sequencer.Resource
		want      []string
	}{
		{
			"a subchart that is not declared: the nearest name is suggested",
			plans.OwnAfter(three(), "rabitmq"), nil,
			[]string{`shop/Chart.yaml: helm.sh/depends-on/subcharts refers to unknown subchart "rabitmq": did you mean "rabbitmq"?`},
		},
		{
			"a subchart that is like none: all are listed",
			plans.OwnAfter(three(), "postgresql"), nil,
			[]string{`refers to unknown subchart "postgresql"; known subcharts: nginx, rabbitmq`},
		},
		{
			"a subchart of a chart that has none",
			plans.OwnAfter(plans.V3("shop"), "db"), nil,
			[]string{`refers to unknown subchart "db"; the chart has no dependencies`},
		},
		{
			"a sibling that is not declared",
			plans.WithDependencies(plans.V3("shop", plans.V3("a")), plans.Dependency("a", "B")), nil,
			[]string{`shop/Chart.yaml: depends-on of dependency a refers to unknown subchart "B"; known subcharts: a`},
		},
		{
			"a name in other letters",
			plans.WithDependencies(plans.V3("shop", plans.V3("a")), plans.Dependency("a"), plans.Dependency("b as Y", "A")), nil,
			[]string{`depends-on of dependency Y refers to unknown subchart "A": did you mean "a"?`},
		},
		{
			"a subchart of a subchart is none of one's own",
			plans.OwnAfter(plans.WithDependencies(plans.V3("shop", plans.V3("a", plans.V3("deep"))), plans.Dependency("a")), "deep"), nil,
			[]string{`shop/Chart.yaml: helm.sh/depends-on/subcharts refers to unknown subchart "deep"; known subcharts: a`},
		},
		{
			"a name that a disabled dependency has wrong",
			plans.WithDependencies(plans.V3("shop"), plans.Disabled(plans.Dependency("a", "nope"))), nil,
			[]string{`depends-on of dependency a refers to unknown subchart "nope"`},
		},
		{
			"in a chart further down the file is named",
			plans.V3("shop", plans.WithDependencies(plans.V3("sub", plans.V3("x")), plans.Dependency("x as y", "z"))), nil,
			[]string{`shop/charts/sub/Chart.yaml: depends-on of dependency y refers to unknown subchart "z"`},
		},
		{
			"one object in two documents",
			plans.V3("shop", plans.V3("sub")), plans.Resources("shop ConfigMap/a", "shop/sub ConfigMap/a ns=default"),
			[]string{`ConfigMap/a in namespace "default" is defined twice, in shop/templates/a.yaml and shop/sub/templates/a.yaml: rename (e.g. with fullnameOverride) or remove one`},
		},
		{
			"one object twice in one file",
			plans.V3("shop"), plans.Resources("shop ConfigMap/a", "shop ConfigMap/a"),
			[]string{`is defined twice, both times in shop/templates/a.yaml`},
		},
		{
			"an annotation that is malformed",
			plans.V3("shop"), plans.Resources(`shop ConfigMap/a depends-on.helm.sh/layers=["b"`),
			[]string{`shop/templates/a.yaml: ConfigMap/a: depends-on.helm.sh/layers: "[\"b\"": a value that begins with "["`},
		},
		{
			"two layers on one resource",
			plans.V3("shop"), plans.Resources("shop ConfigMap/a layer=b helm.sh/resource-group=c"),
			[]string{`shop/templates/a.yaml: ConfigMap/a: helm.sh/resource-group: "c": conflicts with helm.sh/layer: "b"`},
		},
		{
			"an annotation that is no string, as a caller without a renderer may have it",
			plans.V3("shop"), []sequencer.Resource{plans.ParseResource(t, `{kind: Job, metadata: {name: j, annotations: {helm.sh/layer: 5}}}`)},
			[]string{`shop/templates/all.yaml: Job/j: helm.sh/layer: 5: the name of a layer must be a string`},
		},
		{
			"the hook mode in a template",
			plans.V2("shop"), []sequencer.Resource{plans.ParseResource(t, `{kind: Pod, metadata: {name: p, runHooksInParallel: true}}`)},
			[]string{`Pod/p: metadata.runHooksInParallel: true: has no effect in a template: move runHooksInParallel into Chart.yaml`},
		},
		{
			"a chart that the release does not have",
			plans.V3("shop"), plans.Resources("other ConfigMap/a"),
			[]string{`other/templates/a.yaml: belongs to chart "other", which is not part of the release`},
		},
		{
			"all that is wrong is reported together",
			plans.OwnAfter(plans.V3("shop"), "db"), plans.Resources("shop ConfigMap/a helm.sh/readiness-timeout=5", "shop ConfigMap/b helm.sh/layer=x,y"),
			[]string{`ConfigMap/a: helm.sh/readiness-timeout: "5"`, `ConfigMap/b: helm.sh/layer: "x,y"`, `unknown subchart "db"`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := sequencer.Build(sequencer.Input{Root: tt.root, Resources: tt.resources, Namespace: "default"})
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not say %s:\n%v", want, err)
				}
			}
		})
	}
}

func TestErrorKeyOfSubchartsIsTheOneWritten(t *testing.T) {
	root := plans.OwnAfter(plans.V3("shop"), "db")
	root.DependsOnKey = annotation.DependsOnSubchartsCanonical
	_, err := sequencer.Build(sequencer.Input{Root: root})
	var unknown *sequencer.UnknownSubchartError
	if !errors.As(err, &unknown) || unknown.Key != "depends-on.helm.sh/subcharts" || unknown.Name != "db" || unknown.File != "shop/Chart.yaml" {
		t.Errorf("got %+v", err)
	}
}

// TestProblemsCountOnlyWhereTheChartIsSequenced checks that errors are ignored in charts
// whose declarations do not apply.
func TestProblemsCountOnlyWhereTheChartIsSequenced(t *testing.T) {
	problem := errors.New("shop/Chart.yaml: something")
	sub := plans.WithDependencies(plans.V2("sub"), plans.Dependency("x", "nope"))
	sub.Problem = problem
	sub.DependsOnSubcharts = []string{"nope"}
	p := plans.Build(t, plans.V3("shop", sub), plans.Resources("shop/sub ConfigMap/a helm.sh/layer=x,y"))
	plans.ExpectPlan(t, p, plans.Lines("0 shop/sub [ConfigMap/a]"))
	sub.Sequenced = true
	if _, err := sequencer.Build(sequencer.Input{Root: plans.V3("shop", sub)}); !errors.Is(err, problem) {
		t.Errorf("got %v", err)
	}
}

// TestForeignKeysAreNoErrors checks that keys of Helm and of other tools are ignored.
func TestForeignKeysAreNoErrors(t *testing.T) {
	p := plans.Build(t, plans.V3("shop"), plans.Resources("shop ConfigMap/a helm.sh/chart=x helm.sh/resource-policy=keep meta.helm.sh/release-name=x example.com/layers=x layer.helm.sh/x=y",
		"shop ConfigMap/b helm.sh/hook-weight=1 helm.sh/hook-delete-policy=x depends-on.example.com/layers=x"))
	plans.ExpectPlan(t, p, plans.Lines("0 shop [ConfigMap/a ConfigMap/b]"))
}

// TestTypedErrors checks the types of errors that callers can handle.
func TestTypedErrors(t *testing.T) {
	_, err := sequencer.Build(sequencer.Input{Root: plans.V3("shop"), Resources: plans.Resources(
		"shop ConfigMap/a", "shop ConfigMap/a", "shop ConfigMap/b helm.sh/readiness-timeout=x")})
	var duplicate *sequencer.DuplicateError
	if !errors.As(err, &duplicate) || duplicate.ID.Name != "a" {
		t.Errorf("no DuplicateError in %v", err)
	}
	var resource *sequencer.ResourceError
	var value *annotation.ValueError
	if !errors.As(err, &resource) || resource.ID.Name != "b" || !errors.As(err, &value) || value.Value != "x" {
		t.Errorf("no ResourceError with its ValueError in %v", err)
	}
}

// TestCycles checks that the error shows the whole cycle, and where each edge is declared.
func TestCycles(t *testing.T) {
	tests := []struct {
		name      string
		root      *sequencer.Chart
		resources []sequencer.Resource
		want      []string
	}{
		{
			"a layer that depends on itself",
			plans.V3("shop"), plans.Resources("shop ConfigMap/a layer=a after=a"),
			[]string{`layer "a" depends on layer "a" (shop/templates/a.yaml: depends-on.helm.sh/layers)`, "remove the dependency on itself"},
		},
		{
			"a layer whose one resource depends on another of it",
			plans.V3("shop"), plans.Resources("shop ConfigMap/a layer=a", "shop ConfigMap/b layer=a after=a"),
			[]string{`layer "a" depends on layer "a" (shop/templates/b.yaml: depends-on.helm.sh/layers)`, "remove the dependency on itself"},
		},
		{
			"two layers",
			plans.V3("shop"), plans.Resources("shop ConfigMap/a layer=a after=b", "shop ConfigMap/b layer=b after=a"),
			[]string{
				`layer "a" depends on layer "b" (shop/templates/a.yaml: depends-on.helm.sh/layers)`,
				`layer "b" depends on layer "a" (shop/templates/b.yaml: depends-on.helm.sh/layers)`, "remove one of these dependencies",
			},
		},
		{
			"three layers, two of them through different resources, behind others",
			plans.V3("shop"), plans.Resources("shop ConfigMap/z layer=z after=a", "shop ConfigMap/a layer=a after=b", "shop ConfigMap/b layer=b after=base",
				"shop ConfigMap/b2 layer=b after=c", "shop ConfigMap/c layer=c after=a", "shop ConfigMap/base layer=base"),
			[]string{
				`layer "a" depends on layer "b" (shop/templates/a.yaml: depends-on.helm.sh/layers)`,
				`layer "b" depends on layer "c" (shop/templates/b2.yaml: depends-on.helm.sh/layers)`,
				`layer "c" depends on layer "a" (shop/templates/c.yaml: depends-on.helm.sh/layers)`, "remove one of these dependencies",
			},
		},
		{
			"a layer of a subchart",
			plans.V3("shop", plans.V3("sub")), plans.Resources("shop/sub ConfigMap/a helm.sh/resource-group=a helm.sh/depends-on/resource-groups=a"),
			[]string{`layer "a" depends on layer "a" (shop/sub/templates/a.yaml: helm.sh/depends-on/resource-groups)`, "remove the dependency on itself"},
		},
		{
			"a subchart that depends on itself",
			plans.WithDependencies(plans.V3("shop", plans.V3("a")), plans.Dependency("a", "a")), nil,
			[]string{`subchart a depends on subchart a (shop/Chart.yaml: depends-on of dependency a)`, "remove the dependency on itself"},
		},
		{
			"two subcharts, one by alias and one by tag",
			plans.WithDependencies(plans.V3("shop", plans.V3("a"), plans.V3("b")), plans.Dependency("one as a", "t"), plans.Tagged(plans.Dependency("b", "one"), "t")), plans.Resources("shop/a ConfigMap/x", "shop/b ConfigMap/y"),
			[]string{
				`subchart a depends on subchart b (shop/Chart.yaml: depends-on of dependency a)`,
				`subchart b depends on subchart a (shop/Chart.yaml: depends-on of dependency b)`, "remove one of these dependencies",
			},
		},
		{
			"two subcharts, with dependencies inside of them that are no part of the cycle",
			plans.WithDependencies(plans.V3("shop", plans.WithDependencies(plans.V3("a", plans.V3("x"), plans.V3("y")), plans.Dependency("x", "y"), plans.Dependency("y")), plans.V3("b")), plans.Dependency("a", "b"), plans.Dependency("b", "a")),
			plans.Resources("shop/a/x ConfigMap/x layer=1", "shop/a/x ConfigMap/x2 layer=2 after=1", "shop/a/y ConfigMap/y", "shop/b ConfigMap/b layer=1", "shop/b ConfigMap/b2 layer=2 after=1"),
			[]string{
				`subchart a depends on subchart b (shop/Chart.yaml: depends-on of dependency a)`,
				`subchart b depends on subchart a (shop/Chart.yaml: depends-on of dependency b)`, "remove one of these dependencies",
			},
		},
		{
			"three subcharts of a subchart, with charts inside",
			plans.V3("shop", plans.WithDependencies(plans.V3("sub", plans.V3("a", plans.V3("x")), plans.V3("b"), plans.V3("c")), plans.Dependency("a", "b"), plans.Dependency("b", "c"), plans.Dependency("c", "a"))), plans.Resources("shop/sub/a/x ConfigMap/x"),
			[]string{
				`subchart a depends on subchart b (shop/charts/sub/Chart.yaml: depends-on of dependency a)`,
				`subchart b depends on subchart c (shop/charts/sub/Chart.yaml: depends-on of dependency b)`,
				`subchart c depends on subchart a (shop/charts/sub/Chart.yaml: depends-on of dependency c)`, "remove one of these dependencies",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := "dependency cycle:\n  " + strings.Join(tt.want[:len(tt.want)-1], "\n  ") + "\n" + tt.want[len(tt.want)-1]
			resources := slices.Clone(tt.resources)
			for range 2 {
				_, err := sequencer.Build(sequencer.Input{Root: tt.root, Resources: resources, Namespace: "default"})
				var cycle *sequencer.CycleError
				if !errors.As(err, &cycle) || len(cycle.Edges) != len(tt.want)-1 {
					t.Fatalf("got %v", err)
				}
				if err.Error() != want {
					t.Errorf("got:\n%v\nwant:\n%s", err, want)
				}
				slices.Reverse(resources)
			}
		})
	}
}

// TestNoCycle checks graphs that look cyclic but are not.
func TestNoCycle(t *testing.T) {
	t.Run("layers of two charts", func(t *testing.T) {
		plans.Build(t, plans.V3("shop", plans.V3("sub")), plans.Resources("shop ConfigMap/a layer=a after=b", "shop/sub ConfigMap/b layer=b after=a"))
	})
	t.Run("subcharts whose declarations do not count", func(t *testing.T) {
		plans.Build(t, plans.WithDependencies(plans.V2("shop", plans.V3("a"), plans.V3("b")), plans.Dependency("a", "b"), plans.Dependency("b", "a")), nil)
	})
	t.Run("with one that is disabled", func(t *testing.T) {
		plans.Build(t, plans.WithDependencies(plans.V3("shop", plans.V3("a")), plans.Dependency("a", "b"), plans.Disabled(plans.Dependency("b", "a"))), nil)
	})
}
