// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	kubefake "helm.sh/helm/v3/pkg/kube/fake"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/history/historytest"
)

// loadPreviewed loads a chart with everything that Helm changes while it processes
// dependencies: a subchart with a condition, a subchart with an alias, and imported values.
func loadPreviewed(t *testing.T) *chart.Chart {
	t.Helper()
	var files []*chartloader.BufferedFile
	for _, file := range [][2]string{
		{"Chart.yaml", "apiVersion: v2\nname: app\nversion: 0.1.0\ndependencies:\n" +
			"- {name: db, version: 0.1.0, condition: db.enabled, import-values: [defaults, {child: own, parent: imported}]}\n" +
			"- {name: cache, version: 0.1.0, alias: fast}\n"},
		{"values.yaml", "db: {enabled: false, size: 1}\nlist: [{a: 1}]\n"},
		{"templates/app.yaml", configMap("app") + "data: {size: {{ .Values.db.size | quote }}}\n"},
		{"charts/db/Chart.yaml", "apiVersion: v2\nname: db\nversion: 0.1.0\ndependencies: [{name: disk, version: 0.1.0, condition: disk.enabled}]\n"},
		{"charts/db/values.yaml", "exports: {defaults: {a: {b: 1}}}\nown: {c: 1}\n"},
		{"charts/db/templates/db.yaml", configMap("db")},
		{"charts/db/charts/disk/Chart.yaml", "apiVersion: v2\nname: disk\nversion: 0.1.0\n"},
		{"charts/cache/Chart.yaml", "apiVersion: v2\nname: cache\nversion: 0.1.0\n"},
		{"charts/cache/templates/cache.yaml", configMap("cache")},
	} {
		files = append(files, &chartloader.BufferedFile{Name: file[0], Data: []byte(file[1])})
	}
	ch, err := chartloader.LoadFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

func configMap(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n"
}

// previewConfiguration returns a configuration without a cluster, whose storage contains
// these revisions.
func previewConfiguration(t *testing.T, revisions ...*release.Release) *Configuration {
	cfg := newConfiguration(t, revisions...)
	cfg.KubeClient, cfg.Capabilities = &kubefake.PrintingKubeClient{Out: io.Discard}, chartutil.DefaultCapabilities
	return cfg
}

// checkNoCluster checks that a preview failed only at its last step, which needs a cluster.
func checkNoCluster(t *testing.T, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), "has no cluster") {
		t.Errorf("got %v", err)
	}
}

// exportedFields returns the values of the exported fields of an action as text.
func exportedFields(action any) map[string]string {
	fields := map[string]string{}
	var add func(structure reflect.Value)
	add = func(structure reflect.Value) {
		for field, value := range structure.Fields() {
			switch {
			case field.Anonymous && field.Type.Kind() == reflect.Pointer:
				add(value.Elem())
			case field.IsExported():
				fields[field.Name] = fmt.Sprintf("%+v", value)
			}
		}
	}
	add(reflect.ValueOf(action).Elem())
	return fields
}

// TestPreviewKeepsArguments checks that Preview and Plan do not modify the fields of the
// action, the chart and the values of the caller, so that a later call with other values
// finds every subchart.
func TestPreviewKeepsArguments(t *testing.T) {
	current := historytest.RevisionWithChart(1, release.StatusDeployed)
	current.Config = map[string]any{"db": map[string]any{"size": 2}, "more": map[string]any{"a": 1}}
	install := func(call func(*Install, *chart.Chart, map[string]any) error) func(*testing.T, *chart.Chart, map[string]any) (map[string]string, map[string]string) {
		return func(t *testing.T, ch *chart.Chart, vals map[string]any) (map[string]string, map[string]string) {
			i := NewInstall(previewConfiguration(t))
			i.ReleaseName, i.Namespace, i.DryRun, i.DryRunOption, i.Labels = historytest.ReleaseName, "default", true, "client", map[string]string{"a": "b"}
			before := exportedFields(i)
			checkNoCluster(t, call(i, ch, vals))
			return exportedFields(i), before
		}
	}
	upgrade := func(change func(*Upgrade)) func(*testing.T, *chart.Chart, map[string]any) (map[string]string, map[string]string) {
		return func(t *testing.T, ch *chart.Chart, vals map[string]any) (map[string]string, map[string]string) {
			u := NewUpgrade(previewConfiguration(t, current))
			u.DryRun, u.DryRunOption, u.Labels = true, "client", map[string]string{"a": "null"}
			change(u)
			before := exportedFields(u)
			_, err := u.Preview(t.Context(), historytest.ReleaseName, ch, vals)
			checkNoCluster(t, err)
			return exportedFields(u), before
		}
	}
	for name, preview := range map[string]func(*testing.T, *chart.Chart, map[string]any) (got, want map[string]string){
		"install": install(func(i *Install, ch *chart.Chart, vals map[string]any) error {
			_, err := i.Preview(t.Context(), ch, vals)
			return err
		}),
		"plan": install(func(i *Install, ch *chart.Chart, vals map[string]any) error {
			if _, err := i.Plan(t.Context(), ch, vals); err != nil {
				return err
			}
			return errors.New("a plan has no cluster")
		}),
		"upgrade":                           upgrade(func(*Upgrade) {}),
		"upgrade --reuse-values":            upgrade(func(u *Upgrade) { u.ReuseValues = true }),
		"upgrade --reset-then-reuse-values": upgrade(func(u *Upgrade) { u.ResetThenReuseValues = true }),
	} {
		t.Run(name, func(t *testing.T) {
			ch, vals := loadPreviewed(t), map[string]any{"db": map[string]any{"size": 3}}
			if got, want := preview(t, ch, vals); !reflect.DeepEqual(got, want) {
				t.Errorf("the action is changed: %v\nwant %v", got, want)
			}
			if want := loadPreviewed(t); !reflect.DeepEqual(ch, want) {
				t.Errorf("the chart is changed: %+v\nwant %+v", ch, want)
			}
			if want := map[string]any{"db": map[string]any{"size": 3}}; !reflect.DeepEqual(vals, want) {
				t.Errorf("the values are changed: %v", vals)
			}
			later := installManifest(t, ch)
			for _, name := range []string{"app", "db", "cache"} {
				if !strings.Contains(later, "{name: "+name+"}") {
					t.Errorf("a later install with other values has no %s:\n%s", name, later)
				}
			}
		})
	}
}

// installManifest returns the manifest of the chart with all subcharts.
func installManifest(t *testing.T, ch *chart.Chart) string {
	t.Helper()
	i := NewInstall(previewConfiguration(t))
	i.ReleaseName, i.Namespace, i.DryRun = historytest.ReleaseName, "default", true
	rel, err := i.RunWithContext(t.Context(), ch, map[string]any{"db": map[string]any{"enabled": true}})
	if err != nil {
		t.Fatal(err)
	}
	return rel.Manifest
}
