// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

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
)

const appliedApp = "app:app applied"

// briefThree is three, whose Deployment never gets ready and has little time.
func briefThree(tb testing.TB, value string) string {
	tb.Helper()
	parts := threeParts(value)
	parts[1].PodAnnotations, parts[1].Annotations = charts.NeverReady, []string{"helm.sh/readiness-timeout: 2s"}
	return charts.Write(tb, parts...)
}

// foreignApp is what somebody makes in the place of the Deployment of three.
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

// replaceApp puts another object in the place of the Deployment of three.
func (h *helm) replaceApp(tb testing.TB, play string) types.UID {
	tb.Helper()
	h.delete(tb, "Deployment/app")
	h.apply(tb, strings.Replace(foreignApp, "PLAY", play, 1))
	return h.get(tb, "Deployment/app").GetUID()
}

// TestPeopleChangeObjects has somebody change, delete and replace what an operation has
// written and waits for.
func TestPeopleChangeObjects(t *testing.T) {
	t.Parallel()
	upgrade := func(dir string) []string { return []string{"upgrade", "rel", dir, "--wait=ordered"} }
	runLifecycle(t, map[string]func(*testing.T, *helm){
		"deleted during an upgrade": func(t *testing.T, h *helm) {
			h.ok("install", "rel", three(t, "1"), "--wait=ordered")
			h.failsMeanwhile(t, appliedApp, func() { h.delete(t, "Deployment/app") }, upgrade(briefThree(t, "2")),
				"Deployment/app", "somebody deleted it while it was waited for", "never started because of that: app:last")
			h.expectFailed(t, "deployed failed", "Deployment/app")
			h.repair(t, upgrade(three(t, "3"))...)
			h.proveOrderOf(t, "rel", h.readTrace(t))
		},
		"deleted during a rollback": func(t *testing.T, h *helm) {
			h.ok("install", "rel", briefThree(t, "1"), "--wait=false")
			h.ok("upgrade", "rel", three(t, "2"), "--wait=ordered")
			h.ok("upgrade", "rel", slowThree(t, "3", "1s"), "--wait=ordered")
			h.failsMeanwhile(t, appliedApp, func() { h.delete(t, "Deployment/app") }, []string{"rollback", "rel", "2", "--timeout", "6s", "--readiness-timeout", "2s"},
				"Deployment/app", "somebody deleted it while it was waited for")
			h.expectFailed(t, "superseded superseded deployed failed", "Deployment/app")
			h.repair(t, "rollback", "rel", "2")
		},
		"spec changed": func(t *testing.T, h *helm) {
			h.ok("install", "rel", three(t, "1"), "--wait=ordered")
			dir := slowThree(t, "2", "1s")
			h.okMeanwhile(t, appliedApp, func() {
				h.patch(t, "Deployment/app", `{"spec":{"replicas":2,"template":{"spec":{"containers":[{"name":"c","image":"i","env":[{"name":"V","value":"theirs"}]}]}}}}`)
			}, upgrade(dir)...)
			h.proveOrderOf(t, "rel", h.readTrace(t))
			// What the chart sets is set again by the next one, what it does not set stays.
			h.repair(t, upgrade(dir)...)
			app := h.get(t, "Deployment/app")
			if replicas := intAt(app, "spec.replicas"); valueOf(app) != "2" || replicas != 2 {
				t.Errorf("the value is %s, and there are %d replicas", valueOf(app), replicas)
			}
		},
		"marks taken away": func(t *testing.T, h *helm) {
			dir := slowThree(t, "1", "1s")
			h.okMeanwhile(t, appliedApp, func() {
				h.patch(t, "Deployment/app", `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null},"annotations":{"meta.helm.sh/release-name":null}}}`)
			}, "install", "rel", dir, "--wait=ordered")
			h.repair(t, upgrade(dir)...) // which marks it again
			h.repair(t, "uninstall", "rel")
		},
		"replaced by one that is ready": func(t *testing.T, h *helm) {
			h.ok("install", "rel", three(t, "1"), "--wait=ordered")
			h.okMeanwhile(t, appliedApp, func() { h.replaceApp(t, "") }, upgrade(slowThree(t, "2", "20s"))...)
			h.repair(t, upgrade(three(t, "3"))...)
		},
		"replaced by one that is not ready": func(t *testing.T, h *helm) {
			h.ok("install", "rel", three(t, "1"), "--wait=ordered")
			h.failsMeanwhile(t, appliedApp, func() { h.replaceApp(t, neverReady) }, upgrade(briefThree(t, "2")),
				"Deployment/app", "was not ready within 2s", "another object took its name meanwhile")
			h.expectFailed(t, "deployed failed", "Deployment/app")
			h.repair(t, append(upgrade(three(t, "3")), "--readiness-timeout", "30s")...)
		},
		"replaced, then all is undone": func(t *testing.T, h *helm) {
			var uid types.UID
			h.failsMeanwhile(t, appliedApp, func() { uid = h.replaceApp(t, neverReady) },
				[]string{"install", "rel", briefThree(t, "1"), "--wait=ordered", "--atomic"}, "another object took its name meanwhile")
			if app := h.get(t, "Deployment/app"); app == nil || app.GetUID() != uid {
				t.Error("what somebody else made was deleted")
			}
			h.expectOnly(t, "rel")
			h.delete(t, "Deployment/app")
			h.repair(t, "install", "rel", three(t, "1"), "--wait=ordered")
		},
		"changed all the time": func(t *testing.T, h *helm) {
			h.ok("install", "rel", three(t, "1"), "--wait=ordered")
			stop := h.keepChanging(t, "Deployment/app", "ConfigMap/last")
			r := h.run(upgrade(three(t, "2"))...)
			stop()
			if r.code != 0 {
				t.Errorf("exit code %d\n%s", r.code, r.stderr)
			}
			h.expectGood(t)
			h.expectValue(t, "2")
			stop = h.keepChanging(t, "Deployment/app", "ConfigMap/last")
			r = h.run("rollback", "rel", "1", "--force")
			stop()
			if r.code != 0 {
				t.Errorf("exit code %d\n%s", r.code, r.stderr)
			}
			h.expectGood(t)
			h.expectValue(t, "1")
			stop = h.keepChanging(t, "Deployment/app", "ConfigMap/last")
			r = h.run("uninstall", "rel")
			stop()
			if r.code != 0 {
				t.Errorf("exit code %d\n%s", r.code, r.stderr)
			}
			h.expectOnly(t, "rel")
		},
	})
}

// keepChanging has a controller change objects, as often as it can, until it is stopped.
func (h *helm) keepChanging(tb testing.TB, list ...string) (stop func()) {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	over := make(chan struct{})
	client := h.client
	go func() {
		defer close(over)
		pace := time.NewTicker(5 * time.Millisecond) // others use the server, too
		defer pace.Stop()
		for i := 0; ctx.Err() == nil; i++ {
			<-pace.C
			for _, id := range list {
				kind, name, _ := strings.Cut(id, "/")
				patch := fmt.Sprintf(`{"metadata":{"labels":{"turn":"%d"}}}`, i)
				// It may be gone at any time.
				_, _ = client.Resource(h.resource(tb, kind)).Namespace(h.namespace).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			}
		}
	}()
	return func() { cancel(); <-over }
}

// TestPeopleHoldObjects has somebody put a finalizer on what is deleted.
func TestPeopleHoldObjects(t *testing.T) {
	t.Parallel()
	const hold, free = `{"metadata":{"finalizers":["people.example/hold"]}}`, `{"metadata":{"finalizers":null}}`
	// The object going depends on what goes after it.
	more := []charts.Object{{Name: "base", Layer: "base", DependsOn: "last"}, {Name: "going", Layer: "going", DependsOn: "base"}}
	runLifecycle(t, map[string]func(*testing.T, *helm){
		"upgrade, and it is never freed": func(t *testing.T, h *helm) {
			h.ok("install", "rel", three(t, "1", more...), "--wait=ordered")
			h.patch(t, "ConfigMap/going", hold)
			parts := threeParts("2")
			parts[1].Annotations = nil
			upgrade := []string{"upgrade", "rel", charts.Write(t, parts...), "--wait=ordered", "--timeout"}
			h.fails(t, append(upgrade, "10s"), "ConfigMap/going was not gone when the operation's time of 10s was over", "people.example/hold", "whoever set its finalizers", "not deleted because of that: app:base")
			h.expectFailed(t, "deployed failed", "ConfigMap/going", "people.example/hold")
			h.patch(t, "ConfigMap/going", free)
			h.repair(t, append(upgrade, "1m")...)
		},
		"upgrade, and it is freed": func(t *testing.T, h *helm) {
			h.ok("install", "rel", three(t, "1", more...), "--wait=ordered")
			h.okMeanwhile(t, appliedApp, func() { h.patch(t, "ConfigMap/going", hold); h.freeWhenDeleted(t, "ConfigMap/going") },
				"upgrade", "rel", three(t, "2"), "--wait=ordered")
			h.expectGood(t)
		},
		"rollback, and it is never freed": func(t *testing.T, h *helm) {
			h.ok("install", "rel", three(t, "1"), "--wait=ordered")
			h.ok("upgrade", "rel", three(t, "2", more...), "--wait=ordered")
			h.patch(t, "ConfigMap/going", hold)
			h.fails(t, []string{"rollback", "rel", "--timeout", "10s"}, "ConfigMap/going was not gone", "people.example/hold")
			h.expectFailed(t, "superseded deployed failed", "people.example/hold")
			h.patch(t, "ConfigMap/going", free)
			h.repair(t, "rollback", "rel", "1")
		},
		"uninstall, and it is freed": func(t *testing.T, h *helm) {
			h.ok("install", "rel", three(t, "1", more...), "--wait=ordered")
			manifest := h.last(t, "rel").Manifest
			h.patch(t, "ConfigMap/going", hold)
			h.okMeanwhile(t, "ConfigMap/going: Terminating", func() { h.patch(t, "ConfigMap/going", free) }, "uninstall", "rel")
			h.proveReverse(t, manifest)
			h.empty(t)
		},
		"uninstall without a time for all": func(t *testing.T, h *helm) {
			h.ok("install", "rel", three(t, "1", more...), "--wait=ordered")
			h.patch(t, "ConfigMap/going", hold)
			h.fails(t, []string{"uninstall", "rel", "--readiness-timeout", "1s"}, "ConfigMap/going was not gone within 1s", "people.example/hold", "--readiness-timeout")
			h.patch(t, "ConfigMap/going", free)
			h.repair(t, "rollback", "rel", "1")
		},
	})
}

// freeWhenDeleted takes the finalizers off an object that somebody deletes.
func (h *helm) freeWhenDeleted(tb testing.TB, id string) {
	tb.Helper()
	over := make(chan struct{})
	tb.Cleanup(func() { <-over })
	kind, name, _ := strings.Cut(id, "/")
	api := h.client.Resource(h.resource(tb, kind)).Namespace(h.namespace)
	isDeleted := func(object *unstructured.Unstructured) bool { return object.GetDeletionTimestamp() != nil }
	go func() {
		defer close(over)
		if _, err := until(tb.Context(), api, name, isDeleted); err != nil {
			return
		}
		if err := merge(tb.Context(), api, name, `{"metadata":{"finalizers":null}}`); err != nil {
			tb.Error(err)
		}
	}()
}
