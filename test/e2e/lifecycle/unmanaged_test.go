// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// neverReadyWorkload returns a Deployment that never becomes ready, with a short timeout.
func neverReadyWorkload() charts.Object {
	return charts.Object{Kind: "Deployment", Name: "hanging", Layer: "hanging", DependsOn: "a", PodAnnotations: charts.NeverReady, Annotations: charts.ShortTimeout}
}

// failingHook returns the manifest of a hook that fails.
func failingHook(event string) string {
	return charts.Object{Kind: "Job", Name: "hook", Annotations: []string{"helm.sh/hook: " + event}, PodAnnotations: []string{"devcluster/pod: fail"}}.Manifest()
}

// TestLifecycleFailedRevisionsRemovedFromHistory checks that an operation deletes the objects
// that failed revisions have left, even if these revisions are no longer in the history.
func TestLifecycleFailedRevisionsRemovedFromHistory(t *testing.T) {
	t.Parallel()
	a, x := charts.Object{Name: "a", Layer: "a"}, charts.Object{Name: "x", Layer: "x", DependsOn: "a"}
	// forget installs object a, makes an upgrade that adds object x fail, and then makes an
	// upgrade without x fail, which removes the revision with x from the history.
	forget := func(t *testing.T, h *harness.Helm) {
		t.Helper()
		h.MustRun("install", "rel", charts.Write(t, a), "--wait=ordered")
		for _, parts := range [][]charts.Object{{a, x, neverReadyWorkload()}, {a, neverReadyWorkload()}} {
			h.ExpectFailure(t, []string{"upgrade", "rel", charts.Write(t, parts...), "--wait=ordered", "--history-max", "2"}, "Deployment/hanging")
		}
		h.ExpectObjects(t, "rel", "ConfigMap/a", "ConfigMap/x", "Deployment/hanging")
	}
	harness.RunCases(t, map[string]func(*testing.T, *harness.Helm){
		"then uninstalled at once": func(t *testing.T, h *harness.Helm) {
			forget(t, h)
			h.MustRun("uninstall", "rel", "--wait=false")
			h.ExpectObjects(t, "rel")
		},
		"then rolled back at once": func(t *testing.T, h *harness.Helm) {
			forget(t, h)
			h.MustRun("rollback", "rel", "1", "--wait=false")
			h.ExpectObjects(t, "rel", "ConfigMap/a")
		},
		"none was ever deployed, then upgraded without an order": func(t *testing.T, h *harness.Helm) {
			h.ExpectFailure(t, []string{"install", "rel", charts.Write(t, a, x, neverReadyWorkload()), "--wait=ordered"}, "Deployment/hanging")
			h.ExpectFailure(t, []string{"upgrade", "rel", charts.Write(t, a, neverReadyWorkload()), "--wait=ordered", "--history-max", "1"}, "Deployment/hanging")
			h.MustRun("upgrade", "rel", charts.Write(t, a), "--wait=true", "--history-max", "1")
			h.ExpectObjects(t, "rel", "ConfigMap/a")
		},
		"a rollback without an order fails": func(t *testing.T, h *harness.Helm) {
			first := charts.WriteTemplate(t, a.Manifest()+failingHook("pre-rollback"))
			h.MustRun("install", "rel", first)
			h.ExpectFailure(t, []string{"upgrade", "rel", charts.Write(t, a, x, neverReadyWorkload()), "--wait=ordered"}, "Deployment/hanging")
			h.ExpectFailure(t, []string{"rollback", "rel", "1", "--history-max", "2"}, "job hook failed")
			if got := h.Statuses(t, "rel"); got != "deployed failed" {
				t.Fatalf("the history is %s", got)
			}
			h.MustRun("upgrade", "rel", first, "--wait=ordered")
			h.ExpectObjects(t, "rel", "ConfigMap/a")
		},
		"a rollback at once to an ordered revision fails": func(t *testing.T, h *harness.Helm) {
			first := charts.WriteTemplate(t, a.Manifest()+failingHook("pre-rollback"))
			h.MustRun("install", "rel", first, "--wait=ordered")
			h.ExpectFailure(t, []string{"upgrade", "rel", charts.Write(t, a, x, neverReadyWorkload()), "--wait=ordered"}, "Deployment/hanging")
			h.ExpectFailure(t, []string{"rollback", "rel", "1", "--wait=false", "--history-max", "2"}, "job hook failed")
			h.MustRun("uninstall", "rel")
			h.ExpectObjects(t, "rel")
		},
	})
}

// TestLifecycleAfterFailedUninstall checks that objects that another client has created under
// the names of objects that a failed uninstall deleted do not belong to the release.
func TestLifecycleAfterFailedUninstall(t *testing.T) {
	t.Parallel()
	parts := []charts.Object{{Name: "a", Layer: "a"}, {Name: "b", Layer: "b", DependsOn: "a"}, {Name: "x", Layer: "x", DependsOn: "b"}}
	begin := func(t *testing.T, h *harness.Helm, annotations map[string]string) {
		t.Helper()
		h.MustRun("install", "rel", charts.Write(t, parts...), "--wait=ordered")
		h.ExpectFailure(t, []string{"upgrade", "rel", charts.Write(t, append(parts, neverReadyWorkload())...), "--wait=ordered"}, "Deployment/hanging")
		h.Patch(t, "ConfigMap/b", `{"metadata":{"finalizers":["ordered.example/hold"]}}`)
		h.ExpectFailure(t, []string{"uninstall", "rel", "--timeout", "3s"}, "ordered.example/hold")
		h.RemoveFinalizers(t, "ConfigMap/b")
		theirs := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"value": "theirs"}}}
		theirs.SetName("x")
		theirs.SetAnnotations(annotations)
		if _, err := h.Client.Resource(h.ResourceOfKind(t, "ConfigMap")).Namespace(h.Namespace).Create(t.Context(), theirs, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	expectTheirs := func(t *testing.T, h *harness.Helm) {
		t.Helper()
		if x := h.Get(t, "ConfigMap/x"); x == nil || stringAt(x, "data", "value") != "theirs" {
			t.Errorf("it is gone or changed: %v", x)
		}
	}
	harness.RunCases(t, map[string]func(*testing.T, *harness.Helm){
		"upgraded": func(t *testing.T, h *harness.Helm) {
			begin(t, h, map[string]string{"meta.helm.sh/release-name": "other", "meta.helm.sh/release-namespace": h.Namespace})
			h.ExpectFailure(t, []string{"upgrade", "rel", charts.Write(t, parts...), "--wait=ordered"}, `ConfigMap "x"`, "cannot be imported")
			expectTheirs(t, h)
		},
		"uninstalled again": func(t *testing.T, h *harness.Helm) {
			begin(t, h, nil)
			harness.ExpectContains(t, h.MustRun("uninstall", "rel").Stderr, `ConfigMap "x"`, "was partly uninstalled")
			expectTheirs(t, h)
			h.ExpectObjects(t, "rel")
		},
		"failed again, so that the uninstall is forgotten": func(t *testing.T, h *harness.Helm) {
			begin(t, h, nil)
			h.ExpectFailure(t, []string{"upgrade", "rel", charts.Write(t, parts[0], parts[1], neverReadyWorkload()), "--wait=ordered", "--history-max", "2"}, "Deployment/hanging")
			harness.ExpectContains(t, h.MustRun("uninstall", "rel").Stderr, `ConfigMap "x"`, "was partly uninstalled")
			expectTheirs(t, h)
			h.ExpectObjects(t, "rel")
		},
	})
}

// TestLifecycleUninstallWithoutOwnershipLabels checks that an uninstall deletes objects of the
// deployed revision that have lost the labels and annotations of the release, even if a failed
// revision came after it.
func TestLifecycleUninstallWithoutOwnershipLabels(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"--wait=false", "--wait=ordered"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			a := charts.Object{Name: "a", Layer: "a"}
			h.MustRun("install", "rel", charts.Write(t, a), "--wait=ordered")
			h.Patch(t, "ConfigMap/a", `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}`)
			h.ExpectFailure(t, []string{"upgrade", "rel", charts.WriteTemplate(t, a.Manifest()+failingHook("pre-upgrade")), "--wait=ordered"}, "job hook failed")
			if r := h.MustRun("uninstall", "rel", how); strings.Contains(r.Stderr, "is not deleted") {
				t.Error(r.Stderr)
			}
			if a := h.Get(t, "ConfigMap/a"); a != nil {
				t.Errorf("it is still there: %v", a)
			}
		})
	}
}

// TestLifecycleAPIVersionNoLongerServed checks that objects of a failed revision are deleted
// if the cluster no longer serves the API version in which the revision declared them.
func TestLifecycleAPIVersionNoLongerServed(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	group := h.Namespace + ".ordered.example"
	version := func(name string, storage bool) map[string]any {
		return map[string]any{"name": name, "served": true, "storage": storage, "schema": map[string]any{
			"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
		}}
	}
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "gears." + group},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced", "names": map[string]any{"plural": "gears", "singular": "gear", "kind": "Gear"},
			"versions": []any{version("v1", true), version("v1alpha1", false)},
		},
	}}
	client := h.Client
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if _, err := definitions.Create(t.Context(), definition, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := definitions.Delete(context.WithoutCancel(t.Context()), definition.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	old := client.Resource(schema.GroupVersionResource{Group: group, Version: "v1alpha1", Resource: "gears"}).Namespace(h.Namespace)
	untilServed := func(want bool) {
		t.Helper()
		if err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			_, err := old.List(ctx, metav1.ListOptions{})
			return want == (err == nil), nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	untilServed(true)
	first := charts.Write(t, charts.Object{Name: "a", Layer: "a"})
	gear := "---\napiVersion: " + group + "/v1alpha1\nkind: Gear\nmetadata: {name: gear, annotations: {helm.sh/layer: gear, depends-on.helm.sh/layers: a}}\n"
	h.MustRun("install", "rel", first, "--wait=ordered")
	h.ExpectFailure(t, []string{"upgrade", "rel", charts.WriteTemplate(t, charts.Object{Name: "a", Layer: "a"}.Manifest()+gear+neverReadyWorkload().Manifest()), "--wait=ordered"}, "Deployment/hanging")
	patch := `[{"op":"replace","path":"/spec/versions/1/served","value":false}]`
	if _, err := definitions.Patch(t.Context(), definition.GetName(), types.JSONPatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	untilServed(false)
	h.MustRun("upgrade", "rel", first, "--wait=ordered")
	gears := client.Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: "gears"}).Namespace(h.Namespace)
	if left, err := gears.Get(t.Context(), "gear", metav1.GetOptions{}); !errors.IsNotFound(err) {
		t.Errorf("it is still there: %v, %v", left, err)
	}
}

// TestLifecycleReleaseUpdateForbidden checks that an operation whose account is not allowed to
// update the stored release prints what it cannot record.
func TestLifecycleReleaseUpdateForbidden(t *testing.T) {
	t.Parallel()
	harness.RequireSecrets(t, "without permission to update the Release, there is no new revision")
	h := harness.New(t)
	h.Allow(t, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "create", "delete"}},
		rbacv1.PolicyRule{APIGroups: []string{"", "apps"}, Resources: []string{"configmaps", "deployments", "replicasets", "pods", "events"}, Verbs: []string{"*"}})
	limited := []string{"--kube-as-user", "limited-" + h.Namespace}
	a := charts.Object{Name: "a", Layer: "a"}
	h.MustRun("install", "rel", charts.Write(t, a), "--wait=ordered")
	h.ExpectFailure(t, append([]string{"upgrade", "rel", charts.Write(t, a, neverReadyWorkload()), "--wait=ordered"}, limited...),
		"Deployment/hanging", "failed to record that revision 2 of release rel is now failed")
	h.MustRun("rollback", "rel", "1")
	harness.ExpectContains(t, h.MustRun(append([]string{"uninstall", "rel", "--keep-history"}, limited...)...).Stderr,
		"failed to record that revision 3 of release rel is now uninstalled")
}

// TestLifecycleOldSecretsStayRedacted checks that the contents of Secrets that only an old
// revision declared are redacted, because its pods may still log them.
func TestLifecycleOldSecretsStayRedacted(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	chart := func(password string) string {
		return charts.WriteTemplate(t, "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s, annotations: {helm.sh/layer: s}}\nstringData: {password: "+password+"}\n"+
			charts.Object{Kind: "Deployment", Name: "d", Layer: "d", DependsOn: "s", Annotations: charts.ShortTimeout, PodAnnotations: []string{"devcluster/pod: crash-loop", `devcluster/log: "login with first-value refused"`}}.Manifest())
	}
	h.MustRun("install", "rel", chart("first-value"))
	for _, password := range []string{"second-value", "third-value"} {
		r := h.ExpectFailure(t, []string{"upgrade", "rel", chart(password), "--wait=ordered"}, "login with ****** refused")
		if strings.Contains(r.Stderr, "first-value") {
			t.Errorf("it is told:\n%s", r.Stderr)
		}
	}
}
