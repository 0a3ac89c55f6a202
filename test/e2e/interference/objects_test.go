// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package interference

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

const appliedApp = "app:app applied"

// unreadyThreeLayers writes charts.ThreeLayers with a Deployment that never becomes ready and
// has a short readiness timeout.
func unreadyThreeLayers(tb testing.TB, value string) string {
	tb.Helper()
	parts := charts.ThreeLayerObjects(value)
	parts[1].PodAnnotations, parts[1].Annotations = charts.NeverReady, []string{"helm.sh/readiness-timeout: 2s"}
	return charts.Write(tb, parts...)
}

// foreignApp is the manifest of the Deployment by which replaceApp replaces that of the
// release.
const foreignApp = `apiVersion: apps/v1
kind: Deployment
metadata: {name: app, labels: {own: l}}
spec:
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}PLAY}
    spec: {containers: [{name: c, image: theirs}]}
`

const neverReady = ", annotations: {devcluster/pod: never}"

// replaceApp replaces the Deployment of charts.ThreeLayers by another object with the same
// name, as another client might, and returns the UID of that object.
func replaceApp(tb testing.TB, h *harness.Helm, play string) types.UID {
	tb.Helper()
	h.Delete(tb, "Deployment/app")
	h.Apply(tb, strings.Replace(foreignApp, "PLAY", play, 1))
	return h.Get(tb, "Deployment/app").GetUID()
}

// TestOthersChangeObjects checks operations during which other clients change, delete or
// replace objects that the operation has written.
func TestOthersChangeObjects(t *testing.T) {
	t.Parallel()
	upgrade := func(dir string) []string { return []string{"upgrade", "rel", dir, "--wait=ordered"} }
	harness.RunCases(t, map[string]func(*testing.T, *harness.Helm){
		"deleted during an upgrade": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
			h.ExpectFailureWhile(t, appliedApp, func() { h.Delete(t, "Deployment/app") }, upgrade(unreadyThreeLayers(t, "2")),
				"Deployment/app", "deleted while waiting for it", "skipped (blocked by this failure): app:last")
			expectFailed(t, h, "deployed failed", "Deployment/app")
			h.Repair(t, upgrade(charts.ThreeLayers(t, "3"))...)
			h.CheckOrder(t, "rel", h.ReadTrace(t))
		},
		"deleted during a rollback": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", unreadyThreeLayers(t, "1"), "--wait=false")
			h.MustRun("upgrade", "rel", charts.ThreeLayers(t, "2"), "--wait=ordered")
			h.MustRun("upgrade", "rel", slowThreeLayers(t, "3", "1s"), "--wait=ordered")
			h.ExpectFailureWhile(t, appliedApp, func() { h.Delete(t, "Deployment/app") }, []string{"rollback", "rel", "2", "--timeout", "6s", "--readiness-timeout", "2s"},
				"Deployment/app", "deleted while waiting for it")
			expectFailed(t, h, "superseded superseded deployed failed", "Deployment/app")
			h.Repair(t, "rollback", "rel", "2")
		},
		"spec changed": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
			dir := slowThreeLayers(t, "2", "1s")
			h.MustRunWhile(t, appliedApp, func() {
				h.Patch(t, "Deployment/app", `{"spec":{"replicas":2,"template":{"spec":{"containers":[{"name":"c","image":"i","env":[{"name":"V","value":"theirs"}]}]}}}}`)
			}, upgrade(dir)...)
			h.CheckOrder(t, "rel", h.ReadTrace(t))
			// The next operation resets the fields that the chart sets, and keeps the
			// fields that it does not set.
			h.Repair(t, upgrade(dir)...)
			app := h.Get(t, "Deployment/app")
			if replicas := harness.IntAt(app, "spec.replicas"); harness.ValueOf(app) != "2" || replicas != 2 {
				t.Errorf("the value is %s, and there are %d replicas", harness.ValueOf(app), replicas)
			}
		},
		"marks taken away": func(t *testing.T, h *harness.Helm) {
			dir := slowThreeLayers(t, "1", "1s")
			h.MustRunWhile(t, appliedApp, func() {
				h.Patch(t, "Deployment/app", `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null},"annotations":{"meta.helm.sh/release-name":null}}}`)
			}, "install", "rel", dir, "--wait=ordered")
			h.Repair(t, upgrade(dir)...) // this adds the ownership labels again
			h.Repair(t, "uninstall", "rel")
		},
		"replaced by one that is ready": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
			h.MustRunWhile(t, appliedApp, func() { replaceApp(t, h, "") }, upgrade(slowThreeLayers(t, "2", "20s"))...)
			h.Repair(t, upgrade(charts.ThreeLayers(t, "3"))...)
		},
		"replaced by one that is not ready": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
			h.ExpectFailureWhile(t, appliedApp, func() { replaceApp(t, h, neverReady) }, upgrade(unreadyThreeLayers(t, "2")),
				"Deployment/app", "was not ready within 2s", "replaced by another object with the same name")
			expectFailed(t, h, "deployed failed", "Deployment/app")
			h.Repair(t, append(upgrade(charts.ThreeLayers(t, "3")), "--readiness-timeout", "30s")...)
		},
		"replaced, then all is undone": func(t *testing.T, h *harness.Helm) {
			var uid types.UID
			h.ExpectFailureWhile(t, appliedApp, func() { uid = replaceApp(t, h, neverReady) },
				[]string{"install", "rel", unreadyThreeLayers(t, "1"), "--wait=ordered", "--atomic"}, "replaced by another object with the same name")
			if app := h.Get(t, "Deployment/app"); app == nil || app.GetUID() != uid {
				t.Error("what somebody else made was deleted")
			}
			h.ExpectObjects(t, "rel")
			h.Delete(t, "Deployment/app")
			h.Repair(t, "install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
		},
		"changed all the time": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
			stop := keepChanging(t, h, "Deployment/app", "ConfigMap/last")
			r := h.Run(upgrade(charts.ThreeLayers(t, "2"))...)
			stop()
			if r.ExitCode != 0 {
				t.Errorf("exit code %d\n%s", r.ExitCode, r.Stderr)
			}
			h.ExpectDeployed(t)
			h.ExpectValues(t, "2")
			stop = keepChanging(t, h, "Deployment/app", "ConfigMap/last")
			r = h.Run("rollback", "rel", "1", "--force")
			stop()
			if r.ExitCode != 0 {
				t.Errorf("exit code %d\n%s", r.ExitCode, r.Stderr)
			}
			h.ExpectDeployed(t)
			h.ExpectValues(t, "1")
			stop = keepChanging(t, h, "Deployment/app", "ConfigMap/last")
			r = h.Run("uninstall", "rel")
			stop()
			if r.ExitCode != 0 {
				t.Errorf("exit code %d\n%s", r.ExitCode, r.Stderr)
			}
			h.ExpectObjects(t, "rel")
		},
	})
}

// keepChanging changes objects continuously until stop is called, as a controller might.
func keepChanging(tb testing.TB, h *harness.Helm, list ...string) (stop func()) {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	over := make(chan struct{})
	client := h.Client
	go func() {
		defer close(over)
		// Helm tries to replace an object ten times. Between two changes, there must be
		// enough time for a read and a write, even on a busy machine.
		pace := time.NewTicker(25 * time.Millisecond)
		defer pace.Stop()
		for i := 0; ctx.Err() == nil; i++ {
			<-pace.C
			for _, id := range list {
				kind, name, _ := strings.Cut(id, "/")
				patch := fmt.Sprintf(`{"metadata":{"labels":{"turn":"%d"}}}`, i)
				// The object may be deleted at any time.
				_, _ = client.Resource(h.ResourceOfKind(tb, kind)).Namespace(h.Namespace).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			}
		}
	}()
	return func() { cancel(); <-over }
}

// TestOthersAddFinalizers checks operations that delete objects to which another client has
// added a finalizer.
func TestOthersAddFinalizers(t *testing.T) {
	t.Parallel()
	const hold, free = `{"metadata":{"finalizers":["people.example/hold"]}}`, `{"metadata":{"finalizers":null}}`
	// The object "going" is deleted before the objects that it depends on.
	more := []charts.Object{{Name: "base", Layer: "base", DependsOn: "last"}, {Name: "going", Layer: "going", DependsOn: "base"}}
	harness.RunCases(t, map[string]func(*testing.T, *harness.Helm){
		"upgrade, and it is never freed": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", charts.ThreeLayers(t, "1", more...), "--wait=ordered")
			h.Patch(t, "ConfigMap/going", hold)
			parts := charts.ThreeLayerObjects("2")
			parts[1].Annotations = nil
			upgrade := []string{"upgrade", "rel", charts.Write(t, parts...), "--wait=ordered", "--timeout"}
			h.ExpectFailure(t, append(upgrade, "10s"), "ConfigMap/going still existed when the operation timed out after 10s", "people.example/hold", "the controllers of its finalizers", "not deleted (blocked by this failure): app:base")
			expectFailed(t, h, "deployed failed", "ConfigMap/going", "people.example/hold")
			h.Patch(t, "ConfigMap/going", free)
			h.Repair(t, append(upgrade, "1m")...)
		},
		"upgrade, and it is freed": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", charts.ThreeLayers(t, "1", more...), "--wait=ordered")
			h.MustRunWhile(t, appliedApp, func() { h.Patch(t, "ConfigMap/going", hold); removeFinalizerWhenDeleted(t, h, "ConfigMap/going") },
				"upgrade", "rel", charts.ThreeLayers(t, "2"), "--wait=ordered")
			h.ExpectDeployed(t)
		},
		"rollback, and it is never freed": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
			h.MustRun("upgrade", "rel", charts.ThreeLayers(t, "2", more...), "--wait=ordered")
			h.Patch(t, "ConfigMap/going", hold)
			h.ExpectFailure(t, []string{"rollback", "rel", "--timeout", "10s"}, "ConfigMap/going still existed", "people.example/hold")
			expectFailed(t, h, "superseded deployed failed", "people.example/hold")
			h.Patch(t, "ConfigMap/going", free)
			h.Repair(t, "rollback", "rel", "1")
		},
		"uninstall, and it is freed": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", charts.ThreeLayers(t, "1", more...), "--wait=ordered")
			manifest := h.LastRevision(t, "rel").Manifest
			h.Patch(t, "ConfigMap/going", hold)
			h.MustRunWhile(t, "ConfigMap/going: Terminating", func() { h.Patch(t, "ConfigMap/going", free) }, "uninstall", "rel")
			h.CheckUninstallOrder(t, manifest)
			h.ExpectEmptyNamespace(t)
		},
		"uninstall without a time for all": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", charts.ThreeLayers(t, "1", more...), "--wait=ordered")
			h.Patch(t, "ConfigMap/going", hold)
			h.ExpectFailure(t, []string{"uninstall", "rel", "--readiness-timeout", "1s"}, "ConfigMap/going still existed after 1s", "people.example/hold", "--readiness-timeout")
			h.Patch(t, "ConfigMap/going", free)
			h.Repair(t, "rollback", "rel", "1")
		},
	})
}

// removeFinalizerWhenDeleted removes the finalizers of an object once it is deleted.
func removeFinalizerWhenDeleted(tb testing.TB, h *harness.Helm, id string) {
	tb.Helper()
	over := make(chan struct{})
	tb.Cleanup(func() { <-over })
	kind, name, _ := strings.Cut(id, "/")
	api := h.Client.Resource(h.ResourceOfKind(tb, kind)).Namespace(h.Namespace)
	isDeleted := func(object *unstructured.Unstructured) bool { return object.GetDeletionTimestamp() != nil }
	go func() {
		defer close(over)
		if _, err := harness.AwaitState(tb.Context(), api, name, isDeleted); err != nil {
			return
		}
		if err := harness.MergePatch(tb.Context(), api, name, `{"metadata":{"finalizers":null}}`); err != nil {
			tb.Error(err)
		}
	}()
}
