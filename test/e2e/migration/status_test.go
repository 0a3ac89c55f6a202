// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// statusChart has objects that a Release owns, and objects that it does not own for each of the reasons.
const statusChart = `{{ range list "owned" "missing" "foreign" "unmarked" "removed" }}---
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ . }}}
{{ end }}---
apiVersion: v1
kind: ConfigMap
metadata: {name: kept, annotations: {helm.sh/resource-policy: keep}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: elsewhere, namespace: {{ .Values.other }}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: {{ .Release.Namespace }}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: hook, annotations: {helm.sh/hook: pre-install, helm.sh/hook-policy: managed}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: replaced, annotations: {helm.sh/hook: pre-install, helm.sh/hook-policy: managed}}
`

// reasons returns what "helm state status" says of the objects of the release, by name: "owned", or the reason why not.
func reasons(t *testing.T, h *harness.Helm) map[string]string {
	t.Helper()
	var statuses []struct {
		Objects []struct {
			Name, Reason string
			Owned        bool
		}
	}
	harness.NoError(t, json.Unmarshal([]byte(h.MustRun("state", "status", "rel", "-o", "json").Stdout), &statuses))
	said := map[string]string{}
	for _, s := range statuses {
		for _, o := range s.Objects {
			if said[o.Name] = o.Reason; o.Owned {
				said[o.Name] = "owned" + o.Reason
			}
		}
	}
	return said
}

// TestStatusOfObjects checks that "helm state status" says which objects a Release does not own, and why.
func TestStatusOfObjects(t *testing.T) {
	t.Parallel()
	h, other := newHelm(t), harness.New(t)
	h = with(h, "crd")
	dir := charts.WriteTemplate(t, statusChart)
	h.MustRun("install", "rel", dir, "--set", "other="+other.Namespace)
	defer func() {
		roles := h.Client.Resource(schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"})
		harness.NoError(t, roles.Delete(t.Context(), h.Namespace, metav1.DeleteOptions{}))
	}()
	h.Delete(t, "ConfigMap/missing")
	h.Patch(t, "ConfigMap/foreign", `{"metadata":{"annotations":{"meta.helm.sh/release-name":"other"},"ownerReferences":null}}`)
	h.Patch(t, "ConfigMap/unmarked", `{"metadata":{"annotations":null,"labels":null,"ownerReferences":null}}`)
	h.Patch(t, "ConfigMap/removed", `{"metadata":{"ownerReferences":null}}`)
	replaced := h.Get(t, "ConfigMap/replaced")
	h.Delete(t, "ConfigMap/replaced")
	replaced.SetUID("")
	replaced.SetResourceVersion("")
	replaced.SetOwnerReferences(nil)
	_, err := h.Resource("v1", "ConfigMap").Create(t.Context(), replaced, metav1.CreateOptions{})
	harness.NoError(t, err)

	want := map[string]string{
		"owned": "owned", "hook": "owned",
		"missing":   "it does not exist",
		"foreign":   "other",
		"unmarked":  "it is not marked as an object of the release",
		"removed":   "an upgrade or a rollback makes the Release own it",
		"kept":      "it must be kept (helm.sh/resource-policy)",
		"elsewhere": fmt.Sprintf("it is in namespace %s, and the Release in %s", other.Namespace, h.Namespace),
		h.Namespace: "it has no namespace",
		"replaced":  "it is not the object that the hook created",
	}
	got := reasons(t, h)
	for name, reason := range want {
		if !strings.Contains(got[name], reason) || got[name] == "" {
			t.Errorf("of %s, it says %q, want %q", name, got[name], reason)
		}
	}
	if len(got) != len(want) {
		t.Errorf("it lists %v", got)
	}
	without := *h
	without.Env = append(slices.Clone(h.Env), "HELM_OWNER_REFERENCES=false")
	if got := reasons(t, &without)["removed"]; got != "HELM_OWNER_REFERENCES=false" {
		t.Errorf("without references, it says %q", got)
	}
	table := strings.Join(strings.Fields(h.MustRun("state", "status", "rel").Stdout), " ")
	harness.ExpectContains(t, table, "ConfigMap/owned yes", "ConfigMap/kept no it must be kept")
}

// TestStatusOfReleases checks that "helm state status" says where releases are stored.
func TestStatusOfReleases(t *testing.T) {
	t.Parallel()
	h := newHelm(t)
	dir := charts.WriteTemplate(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\n")
	for _, driverName := range []string{"secret", "configmap", "crd", "chunked-secret"} {
		with(h, driverName).MustRun("install", "in-"+driverName, dir)
	}
	with(h, "crd").MustRun("upgrade", "in-crd", dir)
	got := h.MustRun("state", "status").Stdout
	harness.ExpectContains(t, strings.Join(strings.Fields(got), " "),
		"in-chunked-secret secret 1 1 deployed", "in-configmap configmap 1 1 deployed", "in-crd crd 2 2 deployed", "in-secret secret 1 1 deployed")
	harness.ExpectContains(t, h.MustRun("state", "status", "in-secret").Stdout, "in-secret: no Release owns the resources, because the storage driver is secret")
	h.ExpectFailure(t, []string{"state", "status", "unknown"}, "release unknown: release: not found")

	// Somebody has restored a backup of a release that another driver stores by now.
	with(h, "secret").MustRun("install", "twice", dir)
	backup := h.Get(t, "Secret/sh.helm.release.v1.twice.v1")
	with(h, "secret").MustRun("uninstall", "twice")
	with(h, "configmap").MustRun("install", "twice", dir)
	backup.SetUID("")
	backup.SetResourceVersion("")
	_, err := h.Resource("v1", "Secret").Create(t.Context(), backup, metav1.CreateOptions{})
	harness.NoError(t, err)
	harness.ExpectContains(t, h.MustRun("state", "status").Stdout, "another release with this name is stored by")

	empty := harness.New(t)
	if got := empty.MustRun("state", "status", "-o", "json").Stdout; strings.TrimSpace(got) != "[]" {
		t.Errorf("without releases, it prints %s", got)
	}
}
