// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/testutil/plans"
)

// TestNodes has a case for each statement of the reference about nodes and about the order
// within and between charts.
func TestNodes(t *testing.T) {
	tests := []struct {
		name      string
		root      *sequencer.Chart
		resources []sequencer.Resource
		want      string
	}{
		{
			"a chart without annotations is one node",
			plans.V3("shop"),
			plans.Resources("shop Deployment/web", "shop ConfigMap/settings"),
			plans.Lines("0 shop [ConfigMap/settings Deployment/web]"),
		},
		{
			"a node is one layer of a chart",
			plans.V3("shop"),
			plans.Resources("shop Secret/db layer=db", "shop Deployment/db layer=db", "shop Deployment/web layer=web"),
			plans.Lines("0 shop:db [Secret/db Deployment/db]", "0 shop:web [Deployment/web]"),
		},
		{
			"a resource that only depends on layers is a node of its own",
			plans.V3("shop"),
			plans.Resources("shop Deployment/db layer=db", "shop Job/b after=db", "shop Job/a after=db"),
			plans.Lines("0 shop:db [Deployment/db]", "1 shop:(Job/a) [Job/a] < shop:db", "1 shop:(Job/b) [Job/b] < shop:db"),
		},
		{
			"what is unsequenced comes after all layers and single resources of its chart",
			plans.V3("shop"),
			plans.Resources("shop ConfigMap/rest", "shop Deployment/db layer=db", "shop Job/j after=db", "shop Deployment/web layer=web"),
			plans.Lines(
				"0 shop:db [Deployment/db]", "0 shop:web [Deployment/web]", "1 shop:(Job/j) [Job/j] < shop:db",
				"2 shop [ConfigMap/rest] < shop:db shop:web shop:(Job/j)"),
		},
		{
			"readiness annotations alone give no place in the order",
			plans.V3("shop"),
			plans.Resources("shop Job/j helm.sh/readiness-timeout=5s", "shop Deployment/db layer=db"),
			plans.Lines("0 shop:db [Deployment/db]", "1 shop [Job/j] < shop:db"),
		},
		{
			"a layer depends on the union of what its resources depend on",
			plans.V3("shop"),
			plans.Resources("shop Deployment/db layer=db", "shop Deployment/queue layer=queue",
				"shop Deployment/api layer=app after=db", "shop Deployment/worker layer=app after=queue"),
			plans.Lines("0 shop:db [Deployment/db]", "0 shop:queue [Deployment/queue]",
				"1 shop:app [Deployment/api Deployment/worker] < shop:db shop:queue"),
		},
		{
			"layers are private to their chart",
			plans.V3("shop", plans.V3("sub")),
			plans.Resources("shop ConfigMap/a layer=one", "shop ConfigMap/b layer=two after=one",
				"shop/sub ConfigMap/c layer=two", "shop/sub ConfigMap/d layer=one after=two"),
			plans.Lines("0 shop:one [ConfigMap/a]", "0 shop/sub:two [ConfigMap/c]",
				"1 shop:two [ConfigMap/b] < shop:one", "1 shop/sub:one [ConfigMap/d] < shop/sub:two"),
		},
		{
			"no edge means no order: subcharts and a parent that names none deploy side by side",
			plans.V3("shop", plans.V3("a"), plans.V3("b")),
			plans.Resources("shop ConfigMap/shop", "shop/a ConfigMap/a", "shop/b ConfigMap/b"),
			plans.Lines("0 shop [ConfigMap/shop]", "0 shop/a [ConfigMap/a]", "0 shop/b [ConfigMap/b]"),
		},
		{
			"a chart's own resources come after the whole subtree of the subcharts it names",
			plans.OwnAfter(plans.WithDependencies(plans.V3("shop", plans.V3("a", plans.V3("deep")), plans.V3("b")), plans.Dependency("a"), plans.Dependency("b")), "a"),
			plans.Resources("shop ConfigMap/shop layer=l", "shop/a ConfigMap/a", "shop/a/deep ConfigMap/deep layer=l", "shop/b ConfigMap/b"),
			plans.Lines("0 shop/a [ConfigMap/a]", "0 shop/a/deep:l [ConfigMap/deep]", "0 shop/b [ConfigMap/b]",
				"1 shop:l [ConfigMap/shop] < shop/a shop/a/deep:l"),
		},
		{
			"a subchart's whole subtree comes after the whole subtree of each sibling it names",
			plans.WithDependencies(plans.V3("shop", plans.V3("a", plans.V3("deep")), plans.V3("b", plans.V3("low"))), plans.Dependency("a"), plans.Dependency("b", "a")),
			plans.Resources("shop/a ConfigMap/a", "shop/a/deep ConfigMap/deep", "shop/b ConfigMap/b", "shop/b/low ConfigMap/low"),
			plans.Lines("0 shop/a [ConfigMap/a]", "0 shop/a/deep [ConfigMap/deep]",
				"1 shop/b [ConfigMap/b] < shop/a shop/a/deep", "1 shop/b/low [ConfigMap/low] < shop/a shop/a/deep"),
		},
		{
			"a subchart without resources hands on what it waits for",
			plans.OwnAfter(plans.WithDependencies(plans.V3("shop", plans.V3("a"), plans.V3("b"), plans.V3("c")), plans.Dependency("a"), plans.Dependency("b", "a"), plans.Dependency("c", "b")), "b"),
			plans.Resources("shop/a ConfigMap/a", "shop/c ConfigMap/c", "shop ConfigMap/shop"),
			plans.Lines("0 shop/a [ConfigMap/a]", "1 shop [ConfigMap/shop] < shop/a", "1 shop/c [ConfigMap/c] < shop/a"),
		},
		{
			"a v3 parent orders its v2 subcharts as units",
			plans.OwnAfter(plans.WithDependencies(plans.V3("shop", plans.V2("a"), plans.V2("b")), plans.Dependency("a"), plans.Dependency("b", "a")), "b"),
			plans.Resources("shop/a Deployment/a", "shop/a ConfigMap/a", "shop/b ConfigMap/b", "shop ConfigMap/shop"),
			plans.Lines("0 shop/a [ConfigMap/a Deployment/a]", "1 shop/b [ConfigMap/b] < shop/a", "2 shop [ConfigMap/shop] < shop/b"),
		},
		{
			"inside a node: Helm's install order of kinds, then the name; unknown kinds last",
			plans.V3("shop"),
			plans.Resources("shop Widget/a", "shop Deployment/b", "shop Deployment/a", "shop Ingress/i", "shop ServiceAccount/s",
				"shop Namespace/n", "shop Secret/s", "shop Gadget/z"),
			plans.Lines("0 shop [Namespace/n ServiceAccount/s Secret/s Deployment/a Deployment/b Ingress/i Gadget/z Widget/a]"),
		},
		{
			"levels are by depth, then chart path, then layer name, and what is unsequenced last",
			plans.V3("b-chart", plans.V3("a")),
			plans.Resources("b-chart ConfigMap/1 layer=z", "b-chart ConfigMap/2 layer=a", "b-chart ConfigMap/3 after=gone",
				"b-chart/a ConfigMap/4", "b-chart ConfigMap/5 layer=b after=z"),
			plans.Lines("0 b-chart:a [ConfigMap/2]", "0 b-chart:z [ConfigMap/1]", "0 b-chart:(ConfigMap/3) [ConfigMap/3]",
				"0 b-chart/a [ConfigMap/4]", "1 b-chart:b [ConfigMap/5] < b-chart:z"),
		},
		{
			"the proposal's layers",
			plans.V3("app"),
			plans.Resources("app Service/db-service layer=database", "app Deployment/my-app layer=app after=database,queue",
				"app Deployment/queue-processor layer=queue after=another-layer"),
			plans.Lines("0 app:database [Service/db-service]", "0 app:queue [Deployment/queue-processor]",
				"1 app:app [Deployment/my-app] < app:database app:queue"),
		},
		{
			"the proposal's subcharts",
			plans.OwnAfter(plans.WithDependencies(plans.V3("foo", plans.V3("nginx"), plans.V3("rabbitmq"), plans.V3("bar")),
				plans.Dependency("nginx"), plans.Dependency("rabbitmq"), plans.Dependency("bar", "nginx", "rabbitmq")), "bar", "rabbitmq"),
			plans.Resources("foo ConfigMap/f", "foo/bar ConfigMap/b", "foo/nginx ConfigMap/n", "foo/rabbitmq ConfigMap/r"),
			plans.Lines("0 foo/nginx [ConfigMap/n]", "0 foo/rabbitmq [ConfigMap/r]",
				"1 foo/bar [ConfigMap/b] < foo/nginx foo/rabbitmq", "2 foo [ConfigMap/f] < foo/rabbitmq foo/bar"),
		},
		{"nothing at all", plans.V3("shop"), nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plans.ExpectPlan(t, plans.Build(t, tt.root, tt.resources), tt.want)
		})
	}
}

// TestSubchartNames has a case for each way to refer to a subchart.
func TestSubchartNames(t *testing.T) {
	three := func(dependencies ...sequencer.Dependency) *sequencer.Chart {
		return plans.WithDependencies(plans.V3("shop", plans.V3("a"), plans.V3("b"), plans.V3("c")), dependencies...)
	}
	resources := plans.Resources("shop/a ConfigMap/a", "shop/b ConfigMap/b", "shop/c ConfigMap/c")
	tests := []struct {
		name string
		root *sequencer.Chart
		want string
	}{
		{
			"by name", three(plans.Dependency("a"), plans.Dependency("b"), plans.Dependency("c", "a")),
			plans.Lines("0 shop/a [ConfigMap/a]", "0 shop/b [ConfigMap/b]", "1 shop/c [ConfigMap/c] < shop/a"),
		},
		{
			"by alias", three(plans.Dependency("one as a"), plans.Dependency("two as b"), plans.Dependency("c", "a")),
			plans.Lines("0 shop/a [ConfigMap/a]", "0 shop/b [ConfigMap/b]", "1 shop/c [ConfigMap/c] < shop/a"),
		},
		{
			"by the name of an aliased chart", three(plans.Dependency("one as a"), plans.Dependency("two as b"), plans.Dependency("c", "two")),
			plans.Lines("0 shop/a [ConfigMap/a]", "0 shop/b [ConfigMap/b]", "1 shop/c [ConfigMap/c] < shop/b"),
		},
		{
			"a name that fits several aliased copies means all of them", three(plans.Dependency("one as a"), plans.Dependency("one as b"), plans.Dependency("c", "one")),
			plans.Lines("0 shop/a [ConfigMap/a]", "0 shop/b [ConfigMap/b]", "1 shop/c [ConfigMap/c] < shop/a shop/b"),
		},
		{
			"by tag: all dependencies that bear it", three(plans.Tagged(plans.Dependency("a"), "db", "x"), plans.Tagged(plans.Dependency("b"), "db"), plans.Dependency("c", "db")),
			plans.Lines("0 shop/a [ConfigMap/a]", "0 shop/b [ConfigMap/b]", "1 shop/c [ConfigMap/c] < shop/a shop/b"),
		},
		{
			"by a tag that the one who names it bears, too: the others", three(plans.Tagged(plans.Dependency("a"), "db"), plans.Dependency("b"), plans.Tagged(plans.Dependency("c", "db"), "db")),
			plans.Lines("0 shop/a [ConfigMap/a]", "0 shop/b [ConfigMap/b]", "1 shop/c [ConfigMap/c] < shop/a"),
		},
		{
			"a subchart that no dependency declares", three(plans.Dependency("c", "a")),
			plans.Lines("0 shop/a [ConfigMap/a]", "0 shop/b [ConfigMap/b]", "1 shop/c [ConfigMap/c] < shop/a"),
		},
		{
			"one that is declared but disabled is satisfied", three(plans.Dependency("a"), plans.Dependency("b"), plans.Disabled(plans.Dependency("d")), plans.Dependency("c", "d", "a")),
			plans.Lines("0 shop/a [ConfigMap/a]", "0 shop/b [ConfigMap/b]", "1 shop/c [ConfigMap/c] < shop/a"),
		},
		{
			"the edges of a disabled one are not inherited", three(plans.Dependency("a"), plans.Dependency("b"), plans.Disabled(plans.Dependency("d", "a")), plans.Dependency("c", "d")),
			plans.Lines("0 shop/a [ConfigMap/a]", "0 shop/b [ConfigMap/b]", "0 shop/c [ConfigMap/c]"),
		},
		{
			"a tag of one that is disabled and one that is not", three(plans.Tagged(plans.Dependency("a"), "db"), plans.Disabled(plans.Tagged(plans.Dependency("d"), "db")), plans.Dependency("c", "db")),
			plans.Lines("0 shop/a [ConfigMap/a]", "0 shop/b [ConfigMap/b]", "1 shop/c [ConfigMap/c] < shop/a"),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := plans.Build(t, tt.root, resources)
			plans.ExpectPlan(t, p, tt.want)
			plans.ExpectWarnings(t, p)
		})
		t.Run(tt.name+", for a chart's own resources", func(t *testing.T) {
			root := *tt.root
			for i, d := range root.Dependencies {
				if d.Name == "c" {
					root.DependsOnSubcharts = d.DependsOn
					root.Dependencies = slices.Clone(root.Dependencies)
					root.Dependencies[i].DependsOn = nil
				}
			}
			p := plans.Build(t, &root, append(slices.Clone(resources), plans.Resource("shop ConfigMap/own")))
			own := p.Charts[0].OwnAfter
			if i := slices.Index(own, "shop/c"); i >= 0 { // the tag of c
				own = slices.Delete(slices.Clone(own), i, i+1)
			}
			want := plans.Build(t, tt.root, resources).Charts[3].After
			if !slices.Equal(own, want) {
				t.Errorf("own resources after %q, want %q", own, want)
			}
		})
	}
}

// TestWarnings has a case for each warning.
func TestWarnings(t *testing.T) {
	t.Run("a layer that does not exist: the edge is dropped, the resource still sequenced", func(t *testing.T) {
		p := plans.Build(t, plans.V3("shop"), plans.Resources("shop Job/a after=gone", "shop Job/b layer=l after=gone", "shop ConfigMap/c"))
		plans.ExpectPlan(t, p, plans.Lines("0 shop:l [Job/b]", "0 shop:(Job/a) [Job/a]", "1 shop [ConfigMap/c] < shop:l shop:(Job/a)"))
		plans.ExpectWarnings(t, p, `shop/templates/b.yaml: Job/b depends on the unknown layer "gone" of chart shop`)
		if strings.Contains(p.Warnings[0].String(), "did you mean") {
			t.Errorf("got %q", p.Warnings[0])
		}
	})
	t.Run("a layer with a similar name", func(t *testing.T) {
		p := plans.Build(t, plans.V3("shop"), plans.Resources("shop Job/a after=datebase", "shop Job/b layer=database"))
		plans.ExpectWarnings(t, p, `the unknown layer "datebase" of chart shop: the dependency is ignored; did you mean "database"?`)
	})
	t.Run("a layer with the name of a subchart", func(t *testing.T) {
		p := plans.Build(t, plans.V3("shop", plans.V3("queue")), plans.Resources("shop Job/a after=queue", "shop Job/b layer=queues", "shop/queue Job/c"))
		plans.ExpectWarnings(t, p, `the unknown layer "queue" of chart shop: the dependency is ignored; to depend on the subchart, use depends-on.helm.sh/subcharts in Chart.yaml`)
	})
	t.Run("a layer that only another chart has", func(t *testing.T) {
		p := plans.Build(t, plans.V3("shop", plans.V3("sub")), plans.Resources("shop Job/a after=db", "shop/sub Job/b layer=db"))
		plans.ExpectWarnings(t, p, `the unknown layer "db" of chart shop`)
	})
	t.Run("declarations that do not count: one warning per chart that says how to switch them on", func(t *testing.T) {
		sub := plans.OwnAfter(plans.WithDependencies(plans.V2("sub", plans.V2("deep")), plans.Dependency("deep")), "nonsense")
		sub.Declares = true
		p := plans.Build(t, plans.V3("shop", sub, plans.V2("silent")), plans.Resources(
			"shop/sub ConfigMap/a layer=one", "shop/sub ConfigMap/b layer=two after=one", "shop/sub/deep ConfigMap/c helm.sh/readiness-timeout=bad",
			"shop/silent ConfigMap/d helm.sh/hook-weight=1"))
		plans.ExpectPlan(t, p, plans.Lines("0 shop/silent [ConfigMap/d]", "0 shop/sub [ConfigMap/a ConfigMap/b]", "0 shop/sub/deep [ConfigMap/c]"))
		plans.ExpectWarnings(t, p,
			"chart shop/sub declares an order that is ignored, because ordering is not enabled: add the annotation helm.sh/sequencing: enabled to shop/charts/sub/Chart.yaml",
			"chart shop/sub/deep declares an order that is ignored")
	})
	t.Run("in Chart.yaml alone", func(t *testing.T) {
		root := plans.OwnAfter(plans.V2("shop"), "db")
		root.Declares = true
		plans.ExpectWarnings(t, plans.Build(t, root, plans.Resources("shop ConfigMap/a")), "chart shop declares an order that is ignored")
	})
	t.Run("a chart that opts out", func(t *testing.T) {
		root := plans.OwnAfter(plans.V2("shop", plans.V2("sub")), "db")
		root.Declares, root.OptedOut = true, true
		plans.ExpectWarnings(t, plans.Build(t, root, plans.Resources("shop ConfigMap/a layer=one", "shop/sub ConfigMap/b layer=two")), "chart shop/sub declares an order that is ignored")
	})
	t.Run("an invalid helm.sh/sequencing instead of the advice to add it", func(t *testing.T) {
		root := plans.V2("shop")
		root.Mistakes = []error{errors.New("shop/Chart.yaml: helm.sh/sequencing: true: must be")}
		plans.ExpectWarnings(t, plans.Build(t, root, plans.Resources("shop ConfigMap/a layer=one")), "helm.sh/sequencing: true: must be")
	})
	t.Run("keys that are almost ones, and their charts", func(t *testing.T) {
		p := plans.Build(t, plans.V3("shop", plans.V2("sub")), plans.Resources(
			"shop ConfigMap/b helm.sh/layers=x", "shop ConfigMap/a depends-on.helm.sh/layer=x", "shop/sub ConfigMap/c helm.sh/depends-on=x",
			"shop/sub ConfigMap/d helm.sh/depends-on/subcharts=x"))
		plans.ExpectWarnings(t, p,
			`shop/templates/a.yaml: ConfigMap/a: depends-on.helm.sh/layer: "x": unknown key: did you mean depends-on.helm.sh/layers?`,
			`shop/templates/b.yaml: ConfigMap/b: helm.sh/layers: "x": unknown key: did you mean helm.sh/layer?`,
			`ConfigMap/c: helm.sh/depends-on: "x": unknown key: did you mean depends-on.helm.sh/layers?`,
			`ConfigMap/d: helm.sh/depends-on/subcharts: "x": has no effect in a template: move it into Chart.yaml`)
		if w := p.Warnings[2]; w.Kind != sequencer.WarningUnknownKey || w.Chart != "shop/sub" || w.ID.Name != "c" {
			t.Errorf("got %+v", w)
		}
	})
	t.Run("nothing to warn of", func(t *testing.T) {
		plans.ExpectWarnings(t, plans.Build(t, plans.V2("shop", plans.V3("sub")), plans.Resources("shop ConfigMap/a", "shop/sub ConfigMap/b layer=l")))
	})
}

// TestListsAreFlattened checks that the items of a list are treated as documents.
func TestListsAreFlattened(t *testing.T) {
	list := plans.ParseResource(t, `
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {helm.sh/layer: one}}}
- apiVersion: v1
  kind: List
  items:
  - {apiVersion: v1, kind: Secret, metadata: {name: b, annotations: {depends-on.helm.sh/layers: one}}}
`)
	typed := plans.ParseResource(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleList
items:
- {metadata: {name: c}}
`)
	empty := plans.ParseResource(t, `{apiVersion: v1, kind: List, items: []}`)
	none := plans.ParseResource(t, `{apiVersion: v1, kind: List}`)
	p := plans.Build(t, plans.V3("shop"), []sequencer.Resource{list, typed, empty, none})
	plans.ExpectPlan(t, p, plans.Lines("0 shop:one [ConfigMap/a]", "1 shop:(Secret/b) [Secret/b] < shop:one", "2 shop [Role/c] < shop:one shop:(Secret/b)"))
	role := p.Nodes[2].Resources[0]
	if role.ID.Group != "rbac.authorization.k8s.io" || role.Object()["kind"] != "Role" || role.APIVersion != "rbac.authorization.k8s.io/v1" {
		t.Errorf("the item of a typed list is %+v", role)
	}
	if items := typed.Object["items"].([]any); items[0].(map[string]any)["kind"] != nil {
		t.Error("the input was changed")
	}
}

// TestResourceOfANode checks that the plan contains the annotations about readiness.
func TestResourceOfANode(t *testing.T) {
	p := plans.Build(t, plans.V3("shop"), []sequencer.Resource{plans.ParseResource(t, `
apiVersion: batch/v1
kind: Job
metadata:
  name: barz
  annotations:
    helm.sh/readiness-success: ["succeeded==1"]
    helm.sh/readiness-failure: '["failed==1","failed==2"]'
    helm.sh/readiness-timeout: 20s
`)})
	r := p.Nodes[0].Resources[0]
	if fmt.Sprint(r.Success) != "[succeeded==1]" || fmt.Sprint(r.Failure) != "[failed==1 failed==2]" || r.Timeout != 20*time.Second {
		t.Errorf("got %+v", r)
	}
	if want := (sequencer.ID{Group: "batch", Kind: "Job", Namespace: "default", Name: "barz"}); r.ID != want || r.APIVersion != "batch/v1" || r.File != "shop/templates/all.yaml" {
		t.Errorf("got %+v", r)
	}
}

// TestPolicyAndJobs checks information about resources that other packages use.
func TestPolicyAndJobs(t *testing.T) {
	p := plans.Build(t, plans.V3("shop"), []sequencer.Resource{
		plans.ParseResource(t, `{apiVersion: v1, kind: Secret, metadata: {name: own, annotations: {helm.sh/resource-policy: keep}}}`),
		plans.ParseResource(t, `{apiVersion: batch/v1, kind: Job, metadata: {name: job}}`),
		plans.ParseResource(t, `{apiVersion: other/v1, kind: Job, metadata: {name: foreign}}`),
		plans.ParseResource(t, `
kind: List
metadata: {annotations: {helm.sh/resource-policy: keep}}
items:
- {kind: A, metadata: {name: inherits}}
- {kind: A, metadata: {name: differs, annotations: {helm.sh/resource-policy: delete}}}
- {kind: List, items: [{kind: A, metadata: {name: inherits-too}}]}
`),
	})
	policies := map[string]string{"own": "keep", "inherits": "keep", "inherits-too": "keep", "differs": "delete"}
	for _, r := range p.Nodes[0].Resources {
		if r.Policy != policies[r.ID.Name] || r.IsJob() != (r.ID.Name == "job") {
			t.Errorf("%s: policy %q, is a Job: %v", r.ID.Name, r.Policy, r.IsJob())
		}
	}
}

// TestNamespaces checks that objects in different namespaces are different.
func TestNamespaces(t *testing.T) {
	crd := plans.ParseResource(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: wides.example.com, namespace: ignored}
spec: {group: example.com, scope: Cluster, names: {kind: Wide}}
`)
	p := plans.Build(t, plans.V3("shop"), []sequencer.Resource{
		crd,
		plans.Resource("shop ConfigMap/x"), plans.Resource("shop ConfigMap/x ns=other"),
		plans.ParseResource(t, `{apiVersion: example.com/v1, kind: Wide, metadata: {name: x, namespace: a}}`),
		plans.ParseResource(t, `{apiVersion: longhorn.io/v1, kind: Node, metadata: {name: one, namespace: a}}`),
		plans.ParseResource(t, `{apiVersion: longhorn.io/v1, kind: Node, metadata: {name: one, namespace: b}}`),
		plans.ParseResource(t, `{apiVersion: v1, kind: Namespace, metadata: {name: one, namespace: a}}`),
		plans.ParseResource(t, `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: one, namespace: a}}`),
	})
	got := map[sequencer.ID]bool{}
	for _, r := range p.Nodes[0].Resources {
		got[r.ID] = r.SelfDefined
	}
	for _, want := range []sequencer.ID{
		{Kind: "ConfigMap", Namespace: "default", Name: "x"},
		{Kind: "ConfigMap", Namespace: "other", Name: "x"},
		{Group: "example.com", Kind: "Wide", Name: "x"},
		{Group: "longhorn.io", Kind: "Node", Namespace: "a", Name: "one"},
		{Group: "longhorn.io", Kind: "Node", Namespace: "b", Name: "one"},
		{Kind: "Namespace", Name: "one"},
		{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "one"},
		{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "wides.example.com"},
	} {
		selfDefined, found := got[want]
		if !found || selfDefined != (want.Kind == "Wide") {
			t.Errorf("%+v: found %v, self-defined %v", want, found, selfDefined)
		}
	}
}

// TestNodeIDsAreUnique checks nodes whose resources have the same kind and name.
func TestNodeIDsAreUnique(t *testing.T) {
	p := plans.Build(t, plans.V3("shop"), plans.Resources("shop Job/x after=l ns=a", "shop Job/x after=l ns=b", "shop Job/ after=l", "shop Job/ after=l", "shop Job/y layer=l"))
	plans.ExpectPlan(t, p, plans.Lines("0 shop:l [Job/y]", "1 shop:(Job/) [Job/] < shop:l", "1 shop:(Job/)#2 [Job/] < shop:l",
		"1 shop:(Job/x) [Job/x] < shop:l", "1 shop:(Job/x)#2 [Job/x] < shop:l"))
	if a, b := p.Nodes[3].Resources[0].ID.Namespace, p.Nodes[4].Resources[0].ID.Namespace; a != "a" || b != "b" {
		t.Errorf("namespaces %q and %q", a, b)
	}
}

// TestAwaited checks which nodes have dependents.
func TestAwaited(t *testing.T) {
	p := plans.Build(t, plans.OwnAfter(plans.WithDependencies(plans.V3("shop", plans.V3("a")), plans.Dependency("a")), "a"), plans.Resources("shop/a Job/x layer=l", "shop/a Job/y", "shop Job/z"))
	for i, want := range []bool{true, true, false} {
		if n := p.Nodes[i]; n.Awaited != want || n.Level != i {
			t.Errorf("%s: awaited %v, level %d", n.ID(), n.Awaited, n.Level)
		}
	}
	if levels := p.Levels(); len(levels) != 3 || len(levels[0]) != 1 {
		t.Errorf("levels %v", levels)
	}
}

// TestWhole checks the plan of a release without an order.
func TestWhole(t *testing.T) {
	p := sequencer.SingleNode("shop")
	plans.ExpectPlan(t, p, plans.Lines("0 shop []"))
	if len(p.Charts) != 1 || p.Charts[0].Path != "shop" || p.Nodes[0].Awaited {
		t.Errorf("got %+v", p)
	}
}
