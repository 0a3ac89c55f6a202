// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
	"errors"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordered-helm/helm/pkg/action"
	"github.com/ordered-helm/helm/pkg/chart/loader"
	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// lifecycleChart returns a chart whose values determine whether one object becomes ready, and
// whether another object has a finalizer.
func lifecycleChart(tb testing.TB) *chart.Chart {
	tb.Helper()
	chrt, err := loader.Load(charts.WriteFiles(tb, map[string]string{
		"Chart.yaml":  "apiVersion: v3\nname: app\nversion: 0.1.0\n",
		"values.yaml": "after: 0s\nheld: []\n",
		"templates/all.yaml": `apiVersion: v1
kind: ConfigMap
metadata: {name: base, annotations: {helm.sh/layer: base}}
data: {after: "{{ .Values.after }}"}
---
apiVersion: v1
kind: Pod
metadata:
  name: part-{{ .Values.after }}
  annotations: {helm.sh/layer: part, depends-on.helm.sh/layers: base, helm.sh/readiness-timeout: 50s, devcluster/after: "{{ .Values.after }}"}
spec: {containers: [{name: a, image: a}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: top, finalizers: {{ toJson .Values.held }}}
`,
	}))
	harness.NoError(tb, err)
	return chrt
}

// TestSDKLifecycle runs every operation with the Go packages, and cancels each of them once.
// It checks that nothing of the operation is running when the call returns, that the release
// is recorded as failed, and that the next operation succeeds.
func TestSDKLifecycle(t *testing.T) {
	h := harness.New(t)
	cfg := sdkConfiguration(t, h)
	install := action.NewInstall(cfg)
	install.ReleaseName, install.Namespace, install.WaitStrategy, install.Timeout = "rel", h.Namespace, action.WaitStrategyOrdered, time.Minute
	if _, err := install.RunWithContext(t.Context(), lifecycleChart(t), nil); err != nil {
		t.Fatal(err)
	}
	upgrade := func(ctx context.Context, on func(action.Event), vals map[string]any) error {
		u := action.NewUpgrade(cfg)
		u.WaitStrategy, u.Timeout, u.OnEvent = action.WaitStrategyOrdered, time.Minute, on
		_, err := u.RunWithContext(ctx, "rel", lifecycleChart(t), vals)
		return err
	}
	rollback := func(ctx context.Context, on func(action.Event), version int) error {
		r := action.NewRollback(cfg)
		r.Version, r.Timeout, r.OnEvent = version, time.Minute, on
		return r.RunWithContext(ctx, "rel")
	}
	uninstall := func(ctx context.Context, on func(action.Event)) error {
		u := action.NewUninstall(cfg)
		u.Timeout, u.OnEvent = time.Minute, on
		_, err := u.RunWithContext(ctx, "rel")
		return err
	}

	cancelOnce := func(name string, revision int, event action.EventType, do func(context.Context, func(action.Event)) error) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		err := do(ctx, func(e action.Event) {
			if e.Type == event && e.Resource != "" {
				cancel()
			}
		})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("%s: got %v, want context.Canceled", name, err)
		}
		expectNoGoroutines(t)
		rel, err := cfg.Releases.Get("rel", revision)
		if err != nil || rel.Info.Status != release.StatusFailed {
			t.Fatalf("%s: revision %d is %+v, %v; want it failed", name, revision, rel.Info, err)
		}
	}
	slow := map[string]any{"after": "1h"}
	cancelOnce("upgrade", 2, action.EventResourceChanged, func(ctx context.Context, on func(action.Event)) error { return upgrade(ctx, on, slow) })
	cancelOnce("rollback", 3, action.EventResourceChanged, func(ctx context.Context, on func(action.Event)) error { return rollback(ctx, on, 2) })
	harness.NoError(t, rollback(t.Context(), nil, 1))
	pods, err := h.Cluster.Client().CoreV1().Pods(h.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) != 1 || pods.Items[0].Name != "part-0s" {
		t.Fatalf("got %v, %v, want the pod of revision 1 alone", pods.Items, err)
	}
	harness.NoError(t, upgrade(t.Context(), nil, map[string]any{"held": []any{"example.com/held"}}))
	cancelOnce("uninstall", 5, action.EventResourceChanged, uninstall)
	_, err = h.Cluster.Client().CoreV1().ConfigMaps(h.Namespace).Patch(t.Context(), "top", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	harness.NoError(t, err)
	harness.NoError(t, uninstall(t.Context(), nil))
	h.ExpectEmptyNamespace(t)
	expectNoGoroutines(t)
}
