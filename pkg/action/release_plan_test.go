// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	kubefake "helm.sh/helm/v3/pkg/kube/fake"
	"helm.sh/helm/v3/pkg/postrender"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/graphview"
	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/testutil/chartgen"
	"github.com/ordered-helm/helm/pkg/action"
)

// configuration returns a configuration without a cluster that stores releases with the
// driver.
func configuration(d driver.Driver) *action.Configuration {
	return &action.Configuration{
		Releases: storage.Init(d), KubeClient: &kubefake.PrintingKubeClient{Out: io.Discard},
		Capabilities: chartutil.DefaultCapabilities, Log: func(string, ...any) {},
	}
}

func memory() driver.Driver {
	d := driver.NewMemory()
	d.SetNamespace(chartgen.Namespace)
	return d
}

func secrets() driver.Driver {
	return driver.NewSecrets(fake.NewClientset().CoreV1().Secrets(chartgen.Namespace))
}

func installer(cfg *action.Configuration, post postrender.PostRenderer) *action.Install {
	i := action.NewInstall(cfg)
	i.ReleaseName, i.Namespace = "test", chartgen.Namespace
	i.WaitStrategy, i.PostRenderer = action.WaitStrategyOrdered, post
	return i
}

func load(t *testing.T, files []*chartloader.BufferedFile) *chart.Chart {
	t.Helper()
	ch, err := chartloader.LoadFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

func graph(t *testing.T, p *action.Plan) string {
	t.Helper()
	var b strings.Builder
	if err := (&graphview.View{Plan: p.Plan}).Write(&b, graphview.FormatText); err != nil {
		t.Fatal(err)
	}
	for i, n := range p.Nodes {
		b.WriteString(n.ID())
		for _, d := range p.Dependencies(i) {
			b.WriteString(" < " + p.Nodes[d].ID())
		}
		b.WriteString("\n")
	}
	return b.String()
}

// TestReleasePlanIsTheOneExecuted checks that the plan that ReleasePlan rebuilds from a
// stored release is the plan that the install executed. The post-renderers drop all
// information about where a document comes from.
func TestReleasePlanIsTheOneExecuted(t *testing.T) {
	posts := map[string]postrender.PostRenderer{
		"none": nil, "cat": chartgen.Cat{}, "drops comments": chartgen.PostRenderer(chartgen.DropComments),
		"writes JSON": chartgen.PostRenderer(chartgen.ToJSON), "reorders": chartgen.PostRenderer(chartgen.Reverse),
		"adds": chartgen.PostRenderer(chartgen.AddDocument),
	}
	for name, post := range posts {
		t.Run("memory/"+name, func(t *testing.T) {
			for seed := range uint64(8) {
				checkReleasePlan(t, seed, memory(), post)
			}
		})
		t.Run("secret/"+name, func(t *testing.T) {
			for seed := range uint64(2) {
				checkReleasePlan(t, seed, secrets(), post)
			}
		})
	}
}

func checkReleasePlan(t *testing.T, seed uint64, d driver.Driver, post postrender.PostRenderer) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	files := chartgen.Random(r).Files(r)
	cfg := configuration(d)
	i := installer(cfg, post)
	planned, err := i.Plan(t.Context(), load(t, files), map[string]any{})
	if err != nil {
		t.Fatal(err)
	}
	var started []string
	i.OnEvent = func(e action.Event) {
		if e.Type == action.EventNodeStarted {
			started = append(started, e.Node)
		}
	}
	if _, err := i.RunWithContext(t.Context(), load(t, files), map[string]any{}); err != nil {
		t.Fatal(err)
	}
	stored, err := cfg.Releases.Last("test")
	if err != nil {
		t.Fatal(err)
	}
	rebuilt, err := action.ReleasePlan(stored)
	if err != nil {
		t.Fatal(err)
	}
	want := graph(t, planned)
	if got := graph(t, rebuilt); got != want {
		t.Fatalf("rebuilt:\n%s\nplanned:\n%s", got, want)
	}
	var ids []string
	for _, n := range planned.Nodes {
		ids = append(ids, n.ID())
	}
	slices.Sort(ids)
	slices.Sort(started)
	if !slices.Equal(started, ids) {
		t.Fatalf("started %q, planned %q", started, ids)
	}
	for _, f := range stored.Chart.Templates {
		if strings.Contains(f.Name, "record") {
			t.Fatal("the record is among the templates")
		}
	}
	if strings.Contains(stored.Manifest, "ordered.helm.sh/") {
		t.Fatalf("a marker is left in the manifest:\n%s", stored.Manifest)
	}
}

// TestReleasePlanOfWhatHasNoOrder checks that a release that was deployed without an order
// has no plan and no order record.
func TestReleasePlanOfWhatHasNoOrder(t *testing.T) {
	cfg := configuration(memory())
	r := rand.New(rand.NewPCG(1, 1))
	i := installer(cfg, nil)
	i.WaitStrategy = action.WaitStrategyNone
	rel, err := i.RunWithContext(t.Context(), load(t, chartgen.Random(r).Files(r)), map[string]any{})
	if err != nil {
		t.Fatal(err)
	}
	if plan, err := action.ReleasePlan(rel); plan != nil || err != nil {
		t.Errorf("got %v, %v", plan, err)
	}
	if rec, err := orderrecord.Read(rel); rec != nil || err != nil {
		t.Errorf("there is a record: %v, %v", rec, err)
	}
}

func TestReleasePlanOfADamagedRecord(t *testing.T) {
	for name, file := range map[string]string{
		"no JSON": "?", "too few documents": `{"version":1,"sequenced":true,"charts":{"name":"shop"},"documents":[]}`,
	} {
		t.Run(name, func(t *testing.T) {
			rel := &release.Release{
				Name: "shop", Version: 1, Manifest: "---\nkind: ConfigMap\nmetadata: {name: a}\n",
				Chart: &chart.Chart{Files: []*chart.File{{Name: ".ordered-helm/record.json", Data: []byte(file)}}},
			}
			plan, err := action.ReleasePlan(rel)
			var invalid *orderrecord.InvalidError
			if plan != nil || !errors.As(err, &invalid) {
				t.Errorf("got %v, %v", plan, err)
			}
		})
	}
}
