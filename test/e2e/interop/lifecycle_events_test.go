// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/pkg/action"
	"github.com/ordered-helm/helm/pkg/chart/loader"
	"github.com/ordered-helm/helm/pkg/lifecycle"
	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// eventsChart returns a chart with hooks of all operations, which record nothing but their existence.
func eventsChart(tb testing.TB) *chart.Chart {
	tb.Helper()
	chrt, err := loader.Load(charts.WriteFiles(tb, map[string]string{
		"Chart.yaml":         "apiVersion: v3\nname: app\nversion: 0.1.0\n",
		"values.yaml":        "text: written\n",
		"values.schema.json": `{"properties": {"text": {"type": "string"}}}`,
		"templates/all.yaml": "# kept\napiVersion: v1\nkind: ConfigMap\nmetadata: {name:   base}\ndata: {text: {{ quote .Values.text }}}\n---\n" +
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: top}\n",
	}))
	harness.NoError(tb, err)
	return chrt
}

// record returns an emitter whose handlers record the events of an operation. The handlers of wait are
// done when they are called the second time.
func record(t *testing.T, events *[]string) *lifecycle.Emitter {
	t.Helper()
	e := &lifecycle.Emitter{}
	for _, event := range []lifecycle.Event{
		lifecycle.ChartLoaded, lifecycle.PreRender, lifecycle.PostRender, lifecycle.PreValidate, lifecycle.PostValidate, lifecycle.PreInstall, lifecycle.PostInstall,
		lifecycle.PreUpgrade, lifecycle.PostUpgrade, lifecycle.PreRollback, lifecycle.PostRollback, lifecycle.PreDelete, lifecycle.PostDelete, lifecycle.Ready,
	} {
		harness.NoError(t, e.On(event, 0.5, func(_ context.Context, r *lifecycle.Request) error {
			*events = append(*events, string(event))
			if r.Chart == nil || r.Chart.Name() != "app" {
				t.Errorf("%s: got the chart %+v", event, r.Chart)
			}
			if event != lifecycle.ChartLoaded && (r.Name != "rel" || r.Values["text"] == nil) {
				t.Errorf("%s: got %s, %v", event, r.Name, r.Values)
			}
			if (r.Manifest != nil && len(r.Manifest.Documents) > 1) != (event != lifecycle.ChartLoaded && event != lifecycle.PreRender) {
				t.Errorf("%s: got the manifest %+v", event, r.Manifest)
			}
			return nil
		}))
	}
	polls := 0
	harness.NoError(t, e.OnWait(0, func(context.Context, *lifecycle.Request) (bool, error) {
		*events = append(*events, string(lifecycle.Wait))
		polls++
		return polls%2 == 0, nil
	}))
	return e
}

// TestLifecycleEvents checks the events of all operations, in their order.
func TestLifecycleEvents(t *testing.T) {
	h := harness.New(t)
	cfg := sdkConfiguration(t, h)
	var events []string
	e := record(t, &events)
	rendering := "chart-loaded pre-render post-render"
	expect := func(operation string, err error, want string) {
		t.Helper()
		harness.NoError(t, err)
		if got := strings.Join(events, " "); got != want {
			t.Errorf("%s: got the events\n%s\nwant\n%s", operation, got, want)
		}
		events = nil
	}

	dry := action.NewInstall(cfg)
	dry.ReleaseName, dry.Namespace, dry.DryRun, dry.Lifecycle = "rel", h.Namespace, true, e
	_, err := dry.RunWithContext(t.Context(), eventsChart(t), nil)
	expect("dry run", err, rendering)

	install := action.NewInstall(cfg)
	install.ReleaseName, install.Namespace, install.WaitStrategy, install.Timeout, install.Lifecycle = "rel", h.Namespace, action.WaitStrategyOrdered, time.Minute, e
	_, err = install.RunWithContext(t.Context(), eventsChart(t), nil)
	expect("install", err, rendering+" pre-validate post-validate pre-install wait wait ready post-install")

	upgrade := action.NewUpgrade(cfg)
	upgrade.Namespace, upgrade.Timeout, upgrade.Lifecycle = h.Namespace, time.Minute, e
	_, err = upgrade.RunWithContext(t.Context(), "rel", eventsChart(t), nil)
	expect("upgrade that does not wait", err, rendering+" pre-validate post-validate pre-upgrade post-upgrade")

	rollback := action.NewRollback(cfg)
	rollback.Wait, rollback.Timeout, rollback.Lifecycle = true, time.Minute, e
	expect("rollback", rollback.RunWithContext(t.Context(), "rel"), "pre-validate post-validate pre-rollback wait wait ready post-rollback")

	list := action.NewList(cfg)
	list.Lifecycle = &lifecycle.Emitter{}
	for _, event := range []lifecycle.Event{lifecycle.PreList, lifecycle.PostList} {
		harness.NoError(t, list.Lifecycle.On(event, 0, func(_ context.Context, r *lifecycle.Request) error {
			events = append(events, string(event))
			if (len(r.Releases) == 1) != (event == lifecycle.PostList) {
				t.Errorf("%s: got the releases %+v", event, r.Releases)
			}
			return nil
		}))
	}
	releases, err := list.Run()
	expect("list", err, "pre-list post-list")
	if len(releases) != 1 {
		t.Errorf("got the releases %+v", releases)
	}

	uninstall := action.NewUninstall(cfg)
	uninstall.Timeout, uninstall.Lifecycle = time.Minute, e
	_, err = uninstall.RunWithContext(t.Context(), "rel")
	expect("uninstall", err, "pre-delete post-delete")
}

// TestLifecycleChanges checks what handlers can change, and that nothing of it is stored as values.
func TestLifecycleChanges(t *testing.T) {
	h := harness.New(t)
	cfg := sdkConfiguration(t, h)
	e := &lifecycle.Emitter{}
	harness.NoError(t, e.On(lifecycle.PreRender, 0, func(_ context.Context, r *lifecycle.Request) error {
		r.Values["text"] = "changed"
		return nil
	}))
	harness.NoError(t, e.On(lifecycle.PostRender, 0, func(_ context.Context, r *lifecycle.Request) error {
		for _, d := range r.Manifest.Documents {
			object, err := d.Object()
			if err != nil {
				return err
			}
			if metadata, _ := object["metadata"].(map[string]any); metadata["name"] == "top" {
				d.SetObject(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
					"name": "top", "annotations": map[string]any{"helm.sh/layer": "top", "depends-on.helm.sh/layers": "added"},
				}})
			}
		}
		r.Manifest.Documents = append(r.Manifest.Documents, lifecycle.NewDocument(
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: added, annotations: {helm.sh/layer: added}}\n"))
		return nil
	}))
	install := action.NewInstall(cfg)
	install.ReleaseName, install.Namespace, install.WaitStrategy, install.Timeout, install.Lifecycle = "rel", h.Namespace, action.WaitStrategyOrdered, time.Minute, e
	var order []string
	install.OnEvent = func(e action.Event) {
		if e.Type == action.EventNodeStarted {
			order = append(order, e.Node)
		}
	}
	rel, err := install.RunWithContext(t.Context(), eventsChart(t), nil)
	harness.NoError(t, err)
	if len(rel.Config) > 0 || !strings.Contains(rel.Manifest, "# kept\napiVersion: v1\nkind: ConfigMap\nmetadata: {name:   base}\ndata: {text: \"changed\"}\n") {
		t.Errorf("stored are the values %v and the manifest\n%s", rel.Config, rel.Manifest)
	}
	if added, top := slices.Index(order, "app:added"), slices.Index(order, "app:top"); added < 0 || top < added {
		t.Errorf("deployed in the order %q", order)
	}
	h.ExpectObjects(t, "rel", "ConfigMap/added", "ConfigMap/base", "ConfigMap/top")
}

// TestLifecycleFailures checks how an operation ends if a handler fails.
func TestLifecycleFailures(t *testing.T) {
	cause := errors.New("no")
	for _, c := range []struct {
		event  lifecycle.Event
		stored bool // whether the release is recorded
	}{
		{lifecycle.ChartLoaded, false}, {lifecycle.PreRender, false}, {lifecycle.PostRender, false}, {lifecycle.PreValidate, false}, {lifecycle.PostValidate, false},
		{lifecycle.PreInstall, true}, {lifecycle.PostInstall, true}, {lifecycle.Ready, true},
	} {
		t.Run(string(c.event), func(t *testing.T) {
			h := harness.New(t)
			cfg := sdkConfiguration(t, h)
			e := &lifecycle.Emitter{}
			harness.NoError(t, e.On(c.event, 0, func(context.Context, *lifecycle.Request) error { return cause }))
			install := action.NewInstall(cfg)
			install.ReleaseName, install.Namespace, install.WaitStrategy, install.Timeout, install.Lifecycle = "rel", h.Namespace, action.WaitStrategyOrdered, time.Minute, e
			_, err := install.RunWithContext(t.Context(), eventsChart(t), nil)
			if failed, is := errors.AsType[*lifecycle.Error](err); !is || failed.Event != c.event || !errors.Is(err, cause) {
				t.Errorf("got %v", err)
			}
			rel, err := cfg.Releases.Last("rel")
			if (err == nil) != c.stored || c.stored && rel.Info.Status != release.StatusFailed {
				t.Errorf("the stored release is %+v, %v", rel, err)
			}
			if !c.stored {
				h.ExpectObjects(t, "rel")
			}
		})
	}
}
