// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package revisiondiff

import (
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	helmtime "helm.sh/helm/v3/pkg/time"

	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/sequencer"
)

func newRevision() Revision {
	return Revision{
		Release: &release.Release{
			Name: "shop", Version: 1, Info: &release.Info{Description: "Install complete"}, Config: map[string]any{"a": 1},
			Chart: &chart.Chart{
				Metadata:  &chart.Metadata{Name: "shop", Version: "1.0.0"},
				Templates: []*chart.File{{Name: "templates/a.yaml", Data: []byte("a")}, {Name: "templates/b.yaml", Data: []byte("b")}},
			},
			Manifest: "---\n# Source: shop/templates/a.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {v: one}\n",
			Hooks:    []*release.Hook{{Name: "h", Manifest: "kind: Job", Events: []release.HookEvent{release.HookPreInstall}}},
		},
		Record: &orderrecord.Record{Ordered: true, Revision: 1, Charts: &sequencer.Chart{Name: "shop"}},
	}
}

// TestCompare changes one part of a revision after another.
func TestCompare(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Revision)
		want   string
	}{
		{"nothing", func(*Revision) {}, ""},
		{"the version of the chart", func(r *Revision) { r.Chart.Metadata.Version = "1.0.1" }, "the chart"},
		{"a template", func(r *Revision) { r.Chart.Templates[0].Data = []byte("c") }, "the chart"},
		{"the order of the templates", func(r *Revision) {
			r.Chart.Templates[0], r.Chart.Templates[1] = r.Chart.Templates[1], r.Chart.Templates[0]
		}, ""},
		{"a value", func(r *Revision) { r.Config["a"] = 2 }, "the values"},
		{"a value of another type that is stored as the same", func(r *Revision) { r.Config["a"] = 1.0 }, ""},
		{"a label", func(r *Revision) { r.Labels = map[string]string{"a": "b"} }, "the labels"},
		{"no labels", func(r *Revision) { r.Labels = map[string]string{} }, ""},
		{"a description", func(r *Revision) { r.Info.Description = "why" }, "the description"},
		{"the description of another operation", func(r *Revision) { r.Info.Description = "Rollback to 1" }, ""},
		{"an object", func(r *Revision) { r.Manifest = strings.Replace(r.Manifest, "one", "two", 1) }, "the manifest (ConfigMap/a: data.v)"},
		{"another object", func(r *Revision) { r.Manifest = strings.Replace(r.Manifest, "name: a", "name: b", 1) }, "the manifest (ConfigMap/a, ConfigMap/b)"},
		{"a comment", func(r *Revision) { r.Manifest += "# b\n" }, "the manifest"},
		{"a hook", func(r *Revision) { r.Hooks[0].Weight = 1 }, "the hooks"},
		{"when a hook ran", func(r *Revision) { r.Hooks[0].LastRun.StartedAt = helmtime.Now() }, ""},
		{"the delete policy that operations store", func(r *Revision) {
			r.Hooks[0].DeletePolicies = []release.HookDeletePolicy{release.HookBeforeHookCreation}
		}, ""},
		{"the order", func(r *Revision) { r.Record.Charts.Sequenced = true }, "the order"},
		{"no order", func(r *Revision) { r.Record = nil }, "the order"},
		{"the progress", func(r *Revision) { r.Record.Progress, r.Record.Revision = &orderrecord.Progress{}, 2 }, ""},
		{"several parts", func(r *Revision) { r.Config, r.Hooks = nil, nil }, "the values, the hooks"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			changed := newRevision()
			tt.change(&changed)
			got, err := Compare(newRevision(), changed)
			if err != nil || strings.Join(got, ", ") != tt.want {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

// TestReleaseOptions checks with which number and operation a revision was rendered.
func TestReleaseOptions(t *testing.T) {
	first := helmtime.Now()
	revision := func(number int, description string) *release.Release {
		deployed := first.Add(time.Duration(number-1) * time.Minute)
		return &release.Release{Name: "shop", Version: number, Info: &release.Info{FirstDeployed: first, LastDeployed: deployed, Description: description}}
	}
	history := []*release.Release{
		revision(1, "Install complete"), revision(2, "Upgrade complete"), revision(3, "Rollback to 1"), revision(4, "Rollback to 3"), revision(5, "Rollback to 2"),
	}
	for _, tt := range []struct {
		name      string
		last      *release.Release
		history   []*release.Release
		revision  int
		isInstall bool
	}{
		{"install", history[0], history[:1], 1, true},
		{"install with --replace", &release.Release{Version: 4, Info: &release.Info{FirstDeployed: first, LastDeployed: first}}, nil, 1, true},
		{"upgrade", history[1], history[:2], 2, false},
		{"rollback", history[2], history[:3], 1, true},
		{"rollback to a rollback", history[3], history[:4], 1, true},
		{"rollback to an upgrade", history[4], history, 2, false},
		{"rollback to a revision that was deleted", history[4], history[3:], 2, false},
		{"rollback to an install that was deleted", history[2], history[1:3], 1, true},
		{"a description by a user", revision(6, "Rollback to normal"), history, 6, false},
		{"a description with a later revision", revision(6, "Rollback to 6"), history, 6, false},
	} {
		o := ReleaseOptions(tt.last, tt.history)
		if o.IsInstall != tt.isInstall || o.IsUpgrade == o.IsInstall || o.Revision != tt.revision {
			t.Errorf("%s: got %+v", tt.name, o)
		}
	}
}
