// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/releaseapi"
	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// releaseChart has an object that the Release owns, one that is to be kept, and a hook.
const releaseChart = `apiVersion: v1
kind: ConfigMap
metadata: {name: owned}
data: {text: {{ quote .Values.text }}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kept, annotations: {helm.sh/resource-policy: keep}}
data: {text: {{ quote .Values.text }}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: hook, annotations: {helm.sh/hook: pre-upgrade, helm.sh/hook-policy: managed}}
data: {text: {{ quote .Values.text }}}
`

// with returns h with a storage driver.
func with(h *harness.Helm, driverName string) *harness.Helm {
	other := *h
	other.Env = append(slices.Clone(h.Env), "HELM_DRIVER="+driverName)
	return &other
}

// newHelm returns a Helm in a cluster with the definitions of releases.
func newHelm(t *testing.T) *harness.Helm {
	t.Helper()
	h := harness.New(t)
	harness.InstallDefinitions(t, h.Cluster)
	return h
}

// describe returns what Helm says about a release.
func describe(h *harness.Helm) string {
	var all []string
	for _, args := range [][]string{
		{"history", "rel"}, {"get", "all", "rel"}, {"get", "all", "rel", "--revision", "1"}, {"get", "values", "rel", "--revision", "2"}, {"status", "rel"},
	} {
		all = append(all, h.MustRun(args...).Stdout)
	}
	return withoutVersions(strings.Join(all, "\n"))
}

// withoutVersions returns an output without the lines that name ReleaseVersions, which differ between storage drivers.
func withoutVersions(output string) string {
	var lines strings.Builder
	for line := range strings.Lines(output) {
		if !strings.HasPrefix(line, "RELEASE VERSION:") {
			lines.WriteString(line)
		}
	}
	return lines.String()
}

// owners returns the kinds of the owners of the objects of the chart.
func owners(t *testing.T, h *harness.Helm) string {
	t.Helper()
	var all []string
	for _, name := range []string{"owned", "kept", "hook"} {
		kind := "-"
		for _, owner := range h.Get(t, "ConfigMap/"+name).GetOwnerReferences() {
			kind = owner.Kind
		}
		all = append(all, name+":"+kind)
	}
	return strings.Join(all, " ")
}

// expectStored checks that a release is stored by a driver, and by no other.
func expectStored(t *testing.T, h *harness.Helm, driverName string) {
	t.Helper()
	for _, other := range []string{"secret", "configmap", "crd", "chunked-secret"} {
		if other == driverName || strings.HasSuffix(other, "secret") && strings.HasSuffix(driverName, "secret") {
			continue
		}
		if r := with(h, other).Run("status", "rel"); r.ExitCode == 0 {
			t.Errorf("the storage driver %s also stores the release:\n%s", other, r.Stdout)
		}
	}
	with(h, driverName).MustRun("status", "rel")
}

// TestMigrate moves a release through all storage drivers, and checks that its history stays the same, that its objects
// have the right owners, and that stock Helm carries on with it at the end.
func TestMigrate(t *testing.T) {
	t.Parallel()
	h := newHelm(t)
	dir := charts.WriteTemplate(t, releaseChart)
	h.MustRun("install", "rel", dir, "--set", "text=a", "--labels", "team=shop")
	h.MustRun("upgrade", "rel", dir, "--set", "text=b", "--description", "second")
	h.MustRun("rollback", "rel", "1")
	before := describe(h)
	const unowned = "owned:- kept:- hook:-"
	for _, step := range []struct{ from, to, want, owners string }{
		{"secret", "crd", "rel moved from secret to crd: 3 revisions", "owned:Release kept:- hook:Release"},
		{"crd", "configmap", "rel moved from crd to configmap: 3 revisions", unowned},
		{"configmaps", "crd", "rel moved from configmap to crd: 3 revisions", "owned:Release kept:- hook:Release"},
		{"crd", "chunked-secret", "rel moved from crd to chunked-secret: 3 revisions", unowned},
		{"chunked-secret", "secret", "rel stays where it is: secret can read the Secrets of chunked-secret: 3 revisions", unowned},
		{"crd", "secret", "rel is already stored by secret: 3 revisions", unowned},
	} {
		r := h.MustRun("state", "migrate", "rel", "--from", step.from, "--to", step.to)
		if got := strings.TrimSpace(r.Stdout); got != step.want || r.Stderr != "" {
			t.Errorf("%s to %s: got %q, %q", step.from, step.to, got, r.Stderr)
		}
		if after := describe(with(h, step.to)); after != before {
			t.Errorf("after %s to %s, the release is\n%s\nand was\n%s", step.from, step.to, after, before)
		}
		if got := owners(t, h); got != step.owners {
			t.Errorf("after %s to %s, the owners are %s, want %s", step.from, step.to, got, step.owners)
		}
		expectStored(t, h, step.to)
	}
	h.MustRunStock(t, "upgrade", "rel", dir, "--set", "text=c")
	h.MustRunStock(t, "rollback", "rel", "2")
	h.MustRunStock(t, "uninstall", "rel")
	if h.Get(t, "ConfigMap/owned") != nil || h.Get(t, "ConfigMap/kept") == nil {
		t.Error("stock Helm has not uninstalled it")
	}
}

// TestMigratedReleaseContinues checks that a release can be upgraded after each migration.
func TestMigratedReleaseContinues(t *testing.T) {
	t.Parallel()
	h := newHelm(t)
	dir := charts.WriteTemplate(t, releaseChart)
	h.MustRun("install", "rel", dir, "--set", "text=a", "--wait=ordered")
	h.MustRun("state", "migrate", "rel", "--from", "secret", "--to", "crd")
	objects := with(h, "crd")
	releases := h.Client.Resource(releaseapi.ReleaseGVR()).Namespace(h.Namespace)
	parent, err := releases.Get(t.Context(), "rel", metav1.GetOptions{})
	harness.NoError(t, err)
	if revision, _, _ := unstructured.NestedInt64(parent.Object, "status", "revision"); revision != 1 {
		t.Errorf("the Release is at revision %d", revision)
	}
	objects.MustRun("upgrade", "rel", dir, "--set", "text=b", "--wait=ordered")
	harness.ExpectContains(t, objects.MustRun("history", "rel").Stdout, "superseded", "deployed")
	for _, args := range [][]string{{"upgrade", "rel", dir}, {"install", "rel", dir}, {"uninstall", "rel"}} {
		if r := h.RunStock(t, args...); r.ExitCode == 0 {
			t.Errorf("stock helm %v succeeded", args)
		}
	}
	h.MustRun("state", "migrate", "--all", "--from", "crd", "--to", "secret")
	if _, err := releases.Get(t.Context(), "rel", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Release is left (%v)", err)
	}
	h.MustRunStock(t, "rollback", "rel", "1")
	h.ExpectStatuses(t, "rel", "superseded superseded deployed")
}

// stored returns the names and versions of the objects in which releases can be stored.
func stored(t *testing.T, h *harness.Helm) string {
	t.Helper()
	var all []string
	for _, resource := range []schema.GroupVersionResource{
		releaseapi.ReleaseGVR(), releaseapi.ReleaseVersionGVR(), {Version: "v1", Resource: "secrets"}, {Version: "v1", Resource: "configmaps"},
		{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"},
	} {
		list, err := h.Client.Resource(resource).Namespace(h.Namespace).List(t.Context(), metav1.ListOptions{})
		harness.NoError(t, err)
		for _, o := range list.Items {
			all = append(all, resource.Resource+" "+o.GetName()+" "+o.GetResourceVersion())
		}
	}
	return strings.Join(all, "\n")
}

// TestMigrateRejected checks the errors of migrations that cannot begin. They change nothing.
func TestMigrateRejected(t *testing.T) {
	t.Parallel()
	h := newHelm(t)
	dir := charts.WriteTemplate(t, releaseChart)
	h.MustRun("install", "rel", dir, "--set", "text=a")
	harness.ExpectContains(t, with(h, "configmap").Run("install", "rel", dir, "--take-ownership").Stdout, "deployed")
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"no release":       {[]string{"--from", "secret", "--to", "crd"}, "give the names of the releases to move, or --all"},
		"both":             {[]string{"rel", "--all", "--from", "secret", "--to", "crd"}, "give either names of releases or --all"},
		"same driver":      {[]string{"rel", "--from", "secrets", "--to", "secret"}, "--from and --to name the same storage driver"},
		"unknown driver":   {[]string{"rel", "--from", "memory", "--to", "secret"}, `unknown storage driver "memory": must be one of chunked-secret, configmap, crd, secret, sql`},
		"unknown release":  {[]string{"other", "--from", "secret", "--to", "crd"}, "is stored neither by the storage driver secret nor by crd"},
		"name is in use":   {[]string{"rel", "--from", "configmap", "--to", "secret"}, "is stored by the storage driver configmap and by secret"},
		"name is in use 2": {[]string{"rel", "--from", "secret", "--to", "configmap"}, "is stored by the storage driver secret and by configmap"},
	} {
		t.Run(name, func(t *testing.T) {
			before := stored(t, h)
			h.ExpectFailure(t, append([]string{"state", "migrate"}, tt.args...), tt.want)
			if after := stored(t, h); after != before {
				t.Errorf("the stored objects were\n%s\nand are\n%s", before, after)
			}
		})
	}
}
