// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// needing returns a chart with a ConfigMap in the layer first, and one in the layer app, which depends on it and has
// these annotations.
func needing(value string, annotations ...string) charts.Chart {
	return charts.Chart{Objects: []charts.Object{
		{Name: "first", Layer: "first", Value: value},
		{Name: "app", Layer: "app", DependsOn: "first", Value: value, Annotations: annotations},
	}}
}

const needsSecret = "depends-on.helm.sh/external: Secret/registry"

// secret is the external object.
func secret() string { return charts.Object{Kind: "Secret", Name: "registry"}.Manifest() }

// Parts of the progress of an operation that waits for an external dependency: the dependency does not exist, or
// it is not ready.
const (
	missing  = ": Missing: "
	notReady = ": InProgress: "
)

// TestExternalWaits checks when a node with external dependencies starts.
//   - "of a resource or in Chart.yaml, list objects and releases outside of the release that must be ready first"
//   - "It must exist and be ready"
//   - "It is looked for with the storage driver of the operation"
//   - "If the cluster does not serve the kind yet, Ordered Helm waits until it does"
func TestExternalWaits(t *testing.T) {
	t.Parallel()
	harness.RunCases(t, map[string]func(*testing.T, *harness.Helm){
		"a Secret that appears": func(t *testing.T, h *harness.Helm) {
			r := h.MustRunWhile(t, missing, func() { h.Apply(t, secret()) }, "install", "rel", needing("1", needsSecret).Write(t), "--wait=ordered", "--progress=plain")
			expectAfter(t, h, r, "Secret/registry", "ConfigMap/app")
			h.MustRun("uninstall", "rel")
			h.Get(t, "Secret/registry") // it is not deleted
		},
		"a Secret that exists": func(t *testing.T, h *harness.Helm) {
			h.Apply(t, secret())
			h.MustRun("install", "rel", needing("1", needsSecret).Write(t), "--wait=ordered")
		},
		"a Deployment that becomes ready": func(t *testing.T, h *harness.Helm) {
			deployment := charts.Object{Kind: "Deployment", Name: "store", Gate: "open"}.Manifest()
			h.Apply(t, deployment)
			r := h.MustRunWhile(t, notReady, func() { h.OpenGates(t, "open") }, "install", "rel", needing("1", "depends-on.helm.sh/external: Deployment.apps/store").Write(t),
				"--wait=ordered", "--progress=plain")
			expectAfter(t, h, r, "Deployment/store", "ConfigMap/app")
		},
		"a release": func(t *testing.T, h *harness.Helm) {
			h.MustRunWhile(t, missing, func() { h.MustRun("install", "infra", needing("1").Write(t), "--set", "x=y", "--replace") },
				"install", "rel", charts.Chart{Objects: []charts.Object{{Name: "other", Layer: "app", Annotations: []string{"depends-on.helm.sh/external: release:infra"}}}}.Write(t),
				"--wait=ordered", "--progress=plain")
			expectAfter(t, h, harness.Result{}, "ConfigMap/app", "ConfigMap/other")
		},
		"a release in the storage of the operation": func(t *testing.T, h *harness.Helm) {
			needsRelease := func(name string) string {
				return charts.Chart{Objects: []charts.Object{{Name: name, Annotations: []string{"depends-on.helm.sh/external: release:infra", "helm.sh/external-timeout: 3s"}}}}.Write(t)
			}
			h.MustRun("install", "infra", needing("1").Write(t))
			h.MustRun("install", "one", needsRelease("one"), "--wait=ordered")
			h.Env = append(h.Env, "HELM_DRIVER=configmap")
			h.ExpectFailure(t, []string{"install", "two", needsRelease("two"), "--wait=ordered"}, "release/infra", "there is no such release")
		},
		"a kind that appears": func(t *testing.T, h *harness.Helm) {
			group := h.Namespace + ".example"
			definition := charts.Definition(group, "Widget").Manifest()
			h.DeleteAfter(t, harness.ParseManifest(t, definition))
			var appeared time.Time
			h.MustRunWhile(t, missing, func() {
				h.Apply(t, definition)
				harness.Eventually(t, "the kind is served", func() bool {
					appeared = harness.Now()
					return h.Create(t.Context(), charts.CustomResource(group, "Widget", "w").Manifest()) == nil
				})
			}, "install", "rel", needing("1", "helm.sh/depends-on/external: [Widget."+group+"/w]").Write(t), "--wait=ordered", "--progress=plain")
			if created := h.ReadTrace(t).Created("ConfigMap/app"); created.Before(appeared) {
				t.Errorf("the ConfigMap was created at %s, before the Widget at %s", created, appeared)
			}
		},
		"all of a chart": func(t *testing.T, h *harness.Helm) {
			chart := needing("1")
			chart.Metadata = "annotations: {helm.sh/depends-on/external: Secret/registry}\n"
			r := h.MustRunWhile(t, missing, func() { h.Apply(t, secret()) }, "install", "rel", chart.Write(t), "--wait=ordered", "--progress=plain")
			expectAfter(t, h, r, "Secret/registry", "ConfigMap/first")
		},
		"a rollback": func(t *testing.T, h *harness.Helm) {
			h.Apply(t, secret())
			h.MustRun("install", "rel", needing("1", needsSecret).Write(t), "--wait=ordered")
			h.MustRun("upgrade", "rel", needing("2").Write(t), "--wait=ordered")
			h.Delete(t, "Secret/registry")
			h.MustRunWhile(t, missing, func() { h.Apply(t, secret()) }, "rollback", "rel", "1", "--progress=plain")
		},
	})
}

// expectAfter checks that the second object was created after the first was ready.
func expectAfter(t *testing.T, h *harness.Helm, r harness.Result, first, second string) {
	t.Helper()
	h.ExpectReadyBefore(t, r, first, second)
}

// TestExternalFailures checks what an operation says about external dependencies that are not met.
//   - "helm.sh/external-timeout limits the wait"
//   - "the error names the permission and the role that grants it"
//   - "If the time is used up, the error says for each of them"
func TestExternalFailures(t *testing.T) {
	t.Parallel()
	harness.RunCases(t, map[string]func(*testing.T, *harness.Helm){
		"missing": func(t *testing.T, h *harness.Helm) {
			r := h.Run("install", "rel", needing("1", needsSecret, "helm.sh/external-timeout: 2s").Write(t), "--wait=ordered")
			harness.ExpectContains(t, r.Stderr, `external dependencies of layer "app" of chart app`, "Secret/registry", "not found on the server", "skipped (blocked by this failure): app:app")
			h.ExpectStatuses(t, "rel", "failed")
		},
		"a kind that never appears": func(t *testing.T, h *harness.Helm) {
			r := h.Run("install", "rel", needing("1", "depends-on.helm.sh/external: Widget.none.example/w", "helm.sh/external-timeout: 2s").Write(t), "--wait=ordered")
			harness.ExpectContains(t, r.Stderr, "Widget/w", "Widget.none.example")
		},
		"it must not be read": func(t *testing.T, h *harness.Helm) {
			as := h.GrantRules(t, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets", "configmaps"}, Verbs: []string{"*"}})
			r := h.Run(append([]string{"install", "rel", needing("1", "depends-on.helm.sh/external: ServiceAccount/robot").Write(t), "--wait=ordered"}, as...)...)
			harness.ExpectContains(t, r.Stderr, "ServiceAccount/robot", "not allowed to", "serviceaccounts", "Role")
		},
		"atomic plays no part": func(t *testing.T, h *harness.Helm) {
			h.Apply(t, secret())
			h.MustRun("install", "rel", needing("1", needsSecret).Write(t), "--wait=ordered")
			h.Delete(t, "Secret/registry")
			r := h.Run("upgrade", "rel", needing("2", needsSecret, "helm.sh/external-timeout: 2s").Write(t), "--wait=ordered", "--atomic", "--timeout", "30s")
			harness.ExpectContains(t, r.Stderr, "has been rolled back due to atomic being set")
			h.ExpectStatuses(t, "rel", "superseded failed deployed")
		},
		"part of the release": func(t *testing.T, h *harness.Helm) {
			r := h.Run("install", "rel", needing("1", "depends-on.helm.sh/external: ConfigMap/first").Write(t), "--wait=ordered")
			harness.ExpectContains(t, r.Stderr, "is part of the same release (app/templates/all.yaml): use layers instead")
			h.ExpectNoReleases(t)
		},
		"the release itself": func(t *testing.T, h *harness.Helm) {
			r := h.Run("install", "rel", needing("1", "depends-on.helm.sh/external: release:rel").Write(t), "--wait=ordered")
			harness.ExpectContains(t, r.Stderr, "is this release itself: remove it")
			h.ExpectNoReleases(t)
		},
		"a timeout longer than that of the operation": func(t *testing.T, h *harness.Helm) {
			r := h.Run("install", "rel", needing("1", needsSecret, "helm.sh/external-timeout: 2h").Write(t), "--wait=ordered")
			harness.ExpectContains(t, r.Stderr, "helm.sh/external-timeout: 2h0m0s is longer than the timeout of the whole operation")
			h.ExpectNoReleases(t)
		},
		"without an order": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", needing("1", needsSecret).Write(t), "--wait") // it does not wait for the Secret
		},
	})
}
