// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// chartOfDefinitions writes the chart of "helm state init --chart". Unless keep is true, it removes
// the annotation that keeps the definitions. It disables the roles, which have fixed names.
func chartOfDefinitions(t *testing.T, h *harness.Helm, keep bool) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "helm-state")
	h.MustRun("state", "init", "--chart", dir)
	harness.NoError(t, os.WriteFile(filepath.Join(dir, "values.yaml"), []byte("roles: {create: false}\n"), 0o600))
	if keep {
		return dir
	}
	for _, name := range []string{releasesDefinition, versionsDefinition} {
		file := filepath.Join(dir, "templates", name+".yaml")
		text, err := os.ReadFile(file)
		harness.NoError(t, err)
		harness.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(text), "helm.sh/resource-policy: keep", "", 1)), 0o600))
	}
	return dir
}

// installChart installs a chart of the definitions, and creates a Release.
func installChart(t *testing.T, h *harness.Helm, args ...string) {
	t.Helper()
	h.MustRun(append([]string{"install", "definitions"}, args...)...)
	harness.Eventually(t, "the definitions are served", func() bool {
		_, err := client(h).Releases.List(t.Context(), metav1.ListOptions{})
		return err == nil
	})
	_, err := client(h).Releases.Create(t.Context(), sampleRelease(h.Namespace, "shop"))
	harness.NoError(t, err)
}

func deleteRelease(t *testing.T, h *harness.Helm, name string) {
	t.Helper()
	harness.NoError(t, client(h).Releases.Delete(t.Context(), name, metav1.DeleteOptions{}))
}

// expectRefused runs an operation, which must fail before it changes anything.
func expectRefused(t *testing.T, h *harness.Helm, args ...string) {
	t.Helper()
	before := h.Statuses(t, "definitions")
	h.ExpectFailure(t, args, "releases.helm.sh and releaseversions.helm.sh", h.Namespace+"/shop", "uninstall these releases first")
	h.ExpectStatuses(t, "definitions", before)
	for _, name := range []string{releasesDefinition, versionsDefinition} {
		if live := definition(t, h, name); live.GetDeletionTimestamp() != nil {
			t.Errorf("%s is being deleted", name)
		}
	}
	if _, err := client(h).Releases.Get(t.Context(), "shop"); err != nil {
		t.Error(err)
	}
}

// TestDefinitionsInUse checks that no operation takes away the definitions while there are Releases,
// and that it is possible afterwards.
func TestDefinitionsInUse(t *testing.T) {
	empty := func(t *testing.T) string { t.Helper(); return charts.Write(t, charts.Last("")) }
	for _, order := range []string{"--wait=false", "--wait=ordered"} {
		t.Run("uninstall "+order, func(t *testing.T) {
			h := withoutDefinitions(t)
			installChart(t, h, chartOfDefinitions(t, h, false), order)
			expectRefused(t, h, "uninstall", "definitions")
			deleteRelease(t, h, "shop")
			h.MustRun("uninstall", "definitions")
			h.ExpectNoReleases(t)
		})
		t.Run("uninstall of kept definitions "+order, func(t *testing.T) {
			h := withoutDefinitions(t)
			installChart(t, h, chartOfDefinitions(t, h, true), order)
			expectRefused(t, h, "uninstall", "definitions")
			deleteRelease(t, h, "shop")
			// The Release of the release itself is deleted with it.
			_, err := client(h).Releases.Create(t.Context(), sampleRelease(h.Namespace, "definitions"))
			harness.NoError(t, err)
			if r := h.MustRun("uninstall", "definitions"); !strings.Contains(r.Stdout, "[CustomResourceDefinition] releases.helm.sh") {
				t.Errorf("got %s", r.Stdout)
			}
			definition(t, h, releasesDefinition)
		})
		t.Run("upgrade "+order, func(t *testing.T) {
			h := withoutDefinitions(t)
			installChart(t, h, chartOfDefinitions(t, h, false), order)
			expectRefused(t, h, "upgrade", "definitions", empty(t), order)
			deleteRelease(t, h, "shop")
			h.MustRun("upgrade", "definitions", empty(t), order)
		})
		t.Run("rollback "+order, func(t *testing.T) {
			h := withoutDefinitions(t)
			h.MustRun("install", "definitions", empty(t), order)
			h.MustRun("upgrade", "definitions", chartOfDefinitions(t, h, false), order)
			_, err := client(h).Releases.Create(t.Context(), sampleRelease(h.Namespace, "shop"))
			harness.NoError(t, err)
			expectRefused(t, h, "rollback", "definitions", order)
		})
		t.Run("upgrade that keeps them "+order, func(t *testing.T) {
			h := withoutDefinitions(t)
			installChart(t, h, chartOfDefinitions(t, h, true), order)
			h.MustRun("upgrade", "definitions", empty(t), order)
			if _, err := client(h).Releases.Get(t.Context(), "shop"); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestStockKeepsDefinitions checks that stock Helm does not delete the definitions with their chart.
func TestStockKeepsDefinitions(t *testing.T) {
	h := withoutDefinitions(t)
	installChart(t, h, chartOfDefinitions(t, h, true))
	h.MustRunStock(t, "uninstall", "definitions")
	if _, err := client(h).Releases.Get(t.Context(), "shop"); err != nil {
		t.Error(err)
	}
}

// TestReleasesUnknown checks that an uninstall is refused if the account may not look for Releases.
func TestReleasesUnknown(t *testing.T) {
	h := withoutDefinitions(t)
	installChart(t, h, chartOfDefinitions(t, h, false))
	as := h.GrantRules(t, rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}})
	h.ExpectFailure(t, append(as, "uninstall", "definitions"), "is unknown", "releases.helm.sh is forbidden")
	h.ExpectStatuses(t, "definitions", "deployed")
}

// TestOtherReleasesAreNotLookedFor checks that operations on releases without definitions send no
// request for Releases.
func TestOtherReleasesAreNotLookedFor(t *testing.T) {
	h := withDefinitions(t)
	start := harness.Now()
	h.MustRun("install", "rel", charts.Write(t, charts.Last("")))
	h.MustRun("upgrade", "rel", charts.Write(t, charts.Object{Name: "other"}))
	h.MustRun("uninstall", "rel")
	for _, e := range h.Cluster.Audit(t) {
		if e.Group == "helm.sh" && strings.HasPrefix(e.UserAgent, "Helm/") && !e.Received.Before(start) {
			t.Errorf("%s %s", e.Verb, e.URI)
		}
	}
}
