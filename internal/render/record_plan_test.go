// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/postrender"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/testutil/chartgen"
)

// storedCharts is the number of random charts that are stored and planned again.
const storedCharts = 90

// TestThePlanOfAStoredReleaseIsTheOneExecuted renders random charts and builds their plans
// as an ordered operation does, with various post-renderers. It checks that the plan can be
// rebuilt from only the stored release.
func TestThePlanOfAStoredReleaseIsTheOneExecuted(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(storedCharts) {
		r := rand.New(rand.NewPCG(seed, 7))
		files := richChart(r)
		name, post := anyPostRenderer(r)
		planned, err := chartgen.TryRender(t, files.buffered(), post)
		if err != nil {
			t.Fatalf("seed %d, %s: %v", seed, name, err)
		}
		rel := storedRelease(t, r, planned)
		rebuilt := rebuild(t, rel)
		if want, got := planText(planned.Plan), planText(rebuilt); got != want {
			t.Fatalf("seed %d, %s: rebuilt:\n%s\nplanned:\n%s", seed, name, got, want)
		}
		if !reflect.DeepEqual(rebuilt, planned.Plan) {
			t.Fatalf("seed %d, %s: the plans differ in what is not printed:\n%#v\n%#v", seed, name, rebuilt, planned.Plan)
		}
		if rec, err := orderrecord.Read(rel); err != nil || rec.Revision != rel.Version || !slices.Equal(rec.DocumentCharts, planned.Result.Charts) {
			t.Fatalf("seed %d, %s: record %+v, %v", seed, name, rec, err)
		}
		countFeatures(seen, planned)
		seen["post-renderer "+name]++
	}
	checkSeen(t, seen)
}

// storedRelease writes a release with one of Helm's drivers, changes its status as stock
// Helm does, and reads it again.
func storedRelease(t *testing.T, r *rand.Rand, planned *chartgen.Rendered) *release.Release {
	t.Helper()
	ch, err := orderrecord.WithRecord(planned.Chart, &orderrecord.Record{
		Ordered: true, Revision: 4, Charts: planned.Root, DocumentCharts: planned.Result.Charts,
		Progress: &orderrecord.Progress{Revision: 4, TotalNodes: len(planned.Plan.Nodes)},
	})
	if err != nil {
		t.Fatal(err)
	}
	client := fake.NewClientset().CoreV1()
	releases := storage.Init([]driver.Driver{
		driver.NewSecrets(client.Secrets(chartgen.Namespace)), driver.NewConfigMaps(client.ConfigMaps(chartgen.Namespace)),
	}[r.IntN(2)])
	err = releases.Create(&release.Release{
		Name: "r", Namespace: chartgen.Namespace, Version: 4, Chart: ch, Manifest: planned.Result.Manifest,
		Hooks: planned.Result.Hooks, Info: &release.Info{Status: release.StatusPendingInstall},
	})
	if err != nil {
		t.Fatal(err)
	}
	stored, err := releases.Last("r")
	if err != nil {
		t.Fatal(err)
	}
	stored.SetStatus(release.StatusDeployed, "done")
	if err := releases.Update(stored); err != nil {
		t.Fatal(err)
	}
	if stored, err = releases.Get("r", 4); err != nil {
		t.Fatal(err)
	}
	return stored
}

// rebuild builds the plan from a stored release.
func rebuild(t *testing.T, rel *release.Release) *sequencer.Plan {
	t.Helper()
	rec, err := orderrecord.Read(rel)
	if err != nil || rec == nil || !rec.Ordered {
		t.Fatalf("record %+v, %v", rec, err)
	}
	resources, err := render.Resources(rel.Manifest, rec.DocumentCharts, rec.Charts, false)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := sequencer.Build(sequencer.Input{Root: rec.Charts, Resources: resources, Namespace: rel.Namespace})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// planText returns everything that a plan contains as text.
func planText(p *sequencer.Plan) string {
	var b strings.Builder
	for i, n := range p.Nodes {
		fmt.Fprintf(&b, "%d %s of %s: layer %q, unsequenced %v, awaited %v, after layers %q <", n.Level, n.ID(), n.Chart, n.Layer, n.Unsequenced, n.Awaited, n.DependsOn)
		for _, d := range p.Dependencies(i) {
			b.WriteString(" " + p.Nodes[d].ID())
		}
		b.WriteString("\n")
		for _, res := range n.Resources {
			fmt.Fprintf(&b, "  %+v %s of %s: success %v, failure %v, timeout %s, policy %q, self-defined %v, %v\n",
				res.ID, res.APIVersion, res.File, res.Success, res.Failure, res.Timeout, res.Policy, res.SelfDefined, res.Object())
		}
	}
	for _, c := range p.Charts {
		fmt.Fprintf(&b, "%+v\n", *c)
	}
	for _, need := range p.Unmet {
		b.WriteString(need.String() + "\n")
	}
	for _, w := range p.Warnings {
		b.WriteString(w.String() + "\n")
	}
	return b.String()
}

// countFeatures adds the features of a plan that could be lost in a stored release to seen.
func countFeatures(seen map[string]int, planned *chartgen.Rendered) {
	has := func(what string, yes bool) {
		if yes {
			seen[what]++
		}
	}
	p := planned.Plan
	for i, n := range p.Nodes {
		has("twin", strings.Contains(n.ID(), "#"))
		has("single resource", n.Layer == "" && !n.Unsequenced)
		has("edge", len(p.Dependencies(i)) > 0)
		for _, res := range n.Resources {
			has("success", len(res.Success) > 0)
			has("failure", len(res.Failure) > 0)
			has("timeout", res.Timeout > 0)
			has("policy", res.Policy != "")
			has("self-defined", res.SelfDefined)
			has("no source", res.File == "(no Source comment)")
			has("added", res.ID.Name == "added" && n.Chart == planned.Root.Name)
		}
	}
	for _, c := range p.Charts {
		has("chart after another", len(c.After) > 0)
		has("chart after its subcharts", len(c.OwnAfter) > 0)
	}
	for _, w := range p.Warnings {
		for _, kind := range []string{"unknown layer", "that is ignored", "already begins at", "whose service account it grants permissions to"} {
			has("warning: "+kind, strings.Contains(w.String(), kind))
		}
	}
	has("unmet need", len(p.Unmet) > 0)
	countChartFeatures(has, planned.Root)
}

func countChartFeatures(has func(what string, yes bool), c *sequencer.Chart) {
	names := map[string]bool{}
	for _, sub := range c.Subcharts {
		names[sub.Name] = true
		has("sequenced chart", sub.Sequenced)
		has("chart that is not sequenced", !sub.Sequenced)
		countChartFeatures(has, sub)
	}
	copies := map[string]int{}
	for _, d := range c.Dependencies {
		has("disabled", d.Disabled)
		has("disabled by tags", d.Disabled && slices.Equal(d.Tags, []string{"unlit"}))
		has("alias that Helm dropped", !d.Disabled && d.Alias == "" && slices.Contains(d.Tags, "inner-alias"))
		if copies[d.Name]++; copies[d.Name] == 2 {
			has("aliased twice", names[d.Alias])
		}
		delete(names, d.Name)
		delete(names, d.Alias)
	}
	has("undeclared", len(names) > 0)
}

// checkSeen checks that each of the features occurred in one of the random charts.
func checkSeen(t *testing.T, seen map[string]int) {
	t.Helper()
	for _, what := range []string{
		"twin", "single resource", "edge", "success", "failure", "timeout", "policy", "self-defined", "no source", "added",
		"chart after another", "chart after its subcharts", "warning: unknown layer", "warning: that is ignored",
		"warning: already begins at", "warning: whose service account it grants permissions to", "unmet need",
		"sequenced chart", "chart that is not sequenced", "disabled", "disabled by tags", "alias that Helm dropped", "aliased twice", "undeclared",
	} {
		if seen[what] < storedCharts/20 {
			t.Errorf("only %d times: %s", seen[what], what)
		}
	}
	for _, name := range postNames() {
		if seen["post-renderer "+name] < storedCharts/50 {
			t.Errorf("only %d times: post-renderer %s", seen["post-renderer "+name], name)
		}
	}
}

// postRenderers returns various post-renderers. Each has its own random source.
func postRenderers(r *rand.Rand) map[string]postrender.PostRenderer {
	shuffled := func(docs []string) []string {
		r.Shuffle(len(docs), func(i, j int) { docs[i], docs[j] = docs[j], docs[i] })
		return docs
	}
	return map[string]postrender.PostRenderer{
		"none": nil, "cat": chartgen.Cat{}, "drops comments": chartgen.PostRenderer(chartgen.DropComments),
		"writes JSON": chartgen.PostRenderer(chartgen.ToJSON), "reverses": chartgen.PostRenderer(chartgen.Reverse), "adds": chartgen.PostRenderer(chartgen.AddDocument),
		"drops everything": chartgen.PostRenderer(func([]string) ([]string, error) { return nil, nil }),
		"shuffles": chartgen.PostRenderer(func(docs []string) ([]string, error) {
			docs, err := chartgen.DropComments(docs)
			return shuffled(docs), err
		}),
		"shuffles with comments": chartgen.PostRenderer(func(docs []string) ([]string, error) { return shuffled(docs), nil }),
		"adds comments": chartgen.PostRenderer(func(docs []string) ([]string, error) {
			docs = append(docs, "# nothing but a comment", "# Source: elsewhere/templates/a.yaml\n"+chartgen.AddedDocument)
			return append([]string{"# Source: c0/charts/no/templates/a.yaml", ""}, docs...), nil
		}),
		"leaves some out": chartgen.PostRenderer(func(docs []string) ([]string, error) {
			return slices.DeleteFunc(docs, func(string) bool { return r.IntN(3) == 0 }), nil
		}),
		"takes annotations out": chartgen.PostRenderer(func(docs []string) ([]string, error) {
			docs, err := chartgen.ToJSON(docs)
			for i := range docs {
				if r.IntN(3) == 0 {
					docs[i] = strings.ReplaceAll(docs[i], `"annotations"`, `"notes"`)
				}
			}
			return docs, err
		}),
	}
}

func postNames() []string {
	var names []string
	for name := range postRenderers(nil) {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func anyPostRenderer(r *rand.Rand) (string, postrender.PostRenderer) {
	names := postNames()
	name := names[r.IntN(len(names))]
	return name, postRenderers(r)[name]
}
