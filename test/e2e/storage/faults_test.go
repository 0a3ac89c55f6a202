// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordered-helm/helm/internal/releaseapi"
	"github.com/ordered-helm/helm/internal/releasecrds"
	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// versionsOf returns the names of the ReleaseVersions in the namespace, oldest first.
func versionsOf(t *testing.T, h *harness.Helm) []string {
	t.Helper()
	var names []string
	for _, v := range objectsOf(t, h, releaseapi.ReleaseVersionGVR()) {
		names = append(names, v.GetName())
	}
	slices.Sort(names)
	return names
}

// expectStatuses checks the statuses that helm history prints.
func expectStatuses(t *testing.T, h *harness.Helm, want string) {
	t.Helper()
	var got []string
	for _, row := range historyOf(t, h, "rel") {
		got = append(got, row.Status)
	}
	if strings.Join(got, " ") != want {
		t.Errorf("the revisions are %v, want %s", got, want)
	}
}

// threeRevisions installs a release and upgrades it twice. The second and the third revision each add a ConfigMap, which has
// the name of its text.
func threeRevisions(t *testing.T, h *harness.Helm) (dir string) {
	t.Helper()
	dir = charts.WriteTemplate(t, `{{ range splitList "," .Values.names }}---
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ . }}}
{{ end }}`)
	h.MustRun("install", "rel", dir, "--set", "names=one")
	h.MustRun("upgrade", "rel", dir, "--set", `names=one\,two`)
	h.MustRun("upgrade", "rel", dir, "--set", `names=one\,two\,three`)
	return dir
}

func patchRelease(t *testing.T, h *harness.Helm, patch string) {
	t.Helper()
	_, err := h.Client.Resource(releaseapi.ReleaseGVR()).Namespace(h.Namespace).Patch(t.Context(), "rel", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	harness.NoError(t, err)
}

// TestEditedRelease checks that a release works after somebody has edited its Release: no revision is lost, and the next
// operation corrects the Release.
func TestEditedRelease(t *testing.T) {
	t.Parallel()
	for name, patch := range map[string]string{
		"labels and annotations": `{"metadata":{"labels":{"team":"a"},"annotations":{"note":"b"}}}`,
		"heritage":               `{"metadata":{"labels":null}}`,
		"phase":                  `{"status":{"phase":"failed","description":"x"}}`,
		"smaller revision":       `{"status":{"revision":1}}`,
		"greater revision":       `{"status":{"revision":9}}`,
		"older version":          `{"status":{"revision":1,"latestVersion":"FIRST","currentVersion":"FIRST"}}`,
		"unknown version":        `{"status":{"latestVersion":"01jd9x5k2fz5g0v8w8k7c3n4qm"}}`,
		"no status":              `{"status":null}`,
		"counts and conditions":  `{"status":{"counts":{"versions":77},"conditions":[]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := withObjects(t)
			dir := threeRevisions(t, h)
			patchRelease(t, h, strings.ReplaceAll(patch, "FIRST", versionsOf(t, h)[0]))
			expectStatuses(t, h, "superseded superseded deployed")
			harness.ExpectContains(t, h.MustRun("list").Stdout, "rel", "deployed")
			harness.ExpectContains(t, h.MustRun("get", "values", "rel").Stdout, "one,two,three")
			h.MustRun("upgrade", "rel", dir, "--set", `names=one\,two`)
			expectStatuses(t, h, "superseded superseded superseded deployed")
			if h.Get(t, "ConfigMap/three") != nil {
				t.Error("the object of the third revision is left")
			}
			parent := &releaseapi.Release{}
			harness.NoError(t, releaseapi.FromUnstructured(&objectsOf(t, h, releaseapi.ReleaseGVR())[0], parent))
			latest := versionsOf(t, h)[3]
			if s := parent.Status; s.Revision != 4 || s.LatestVersion != latest || s.CurrentVersion != latest || s.Phase != "deployed" || s.Counts.Versions != 4 {
				t.Errorf("the Release has the status %+v", s)
			}
			if strings.Contains(patch, "team") && (parent.Labels["team"] != "a" || parent.Annotations["note"] != "b") {
				t.Errorf("the labels are %v, the annotations %v", parent.Labels, parent.Annotations)
			}
			h.MustRun("rollback", "rel", "1")
			h.MustRun("uninstall", "rel")
			expectNothingLeft(t, h)
		})
	}
}

// TestDeletedVersions checks what is possible with a release of which somebody has deleted revisions.
func TestDeletedVersions(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		deleted  []int // indexes of revisions
		statuses string
		fails    map[string]string // commands, and what their errors say
		after    string            // statuses after an upgrade
	}{
		"the newest": {deleted: []int{2}, statuses: "superseded superseded", after: "superseded superseded deployed"},
		"a superseded one": {
			deleted: []int{1}, statuses: "superseded deployed", fails: map[string]string{"rollback rel 2": "release has no 2 version", "get all rel --revision 2": "release: not found"},
			after: "superseded superseded deployed",
		},
		"the first": {deleted: []int{0}, statuses: "superseded deployed", after: "superseded superseded deployed"},
		"all": {
			deleted: []int{0, 1, 2}, fails: map[string]string{
				"history rel": "release: not found", "status rel": "release: not found", "upgrade rel DIR --set names=one": "has no deployed releases", "rollback rel": "release: not found",
			},
			after: "deployed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := withObjects(t)
			dir := threeRevisions(t, h)
			versions := versionsOf(t, h)
			for _, i := range tt.deleted {
				harness.NoError(t, h.Client.Resource(releaseapi.ReleaseVersionGVR()).Namespace(h.Namespace).Delete(t.Context(), versions[i], metav1.DeleteOptions{}))
			}
			if tt.statuses != "" {
				expectStatuses(t, h, tt.statuses)
			}
			for line, want := range tt.fails {
				h.ExpectFailure(t, strings.Fields(strings.ReplaceAll(line, "DIR", dir)), want)
			}
			h.MustRun("upgrade", "--install", "rel", dir, "--set", `names=one\,four`)
			expectStatuses(t, h, tt.after)
			h.MustRun("uninstall", "rel")
			awaitNothingLeft(t, h) // the parts of the deleted versions are deleted by the garbage collector
		})
	}
}

// TestReleaseDeletedInEachWay deletes a Release with kubectl, in each way that Kubernetes has.
func TestReleaseDeletedInEachWay(t *testing.T) {
	t.Parallel()
	for _, cascade := range []string{"background", "foreground", "orphan"} {
		t.Run(cascade, func(t *testing.T) {
			t.Parallel()
			h := withObjects(t)
			dir := threeRevisions(t, h)
			if out, err := h.Kubectl(t, "delete", "releases.helm.sh", "rel", "--cascade="+cascade); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if cascade == "orphan" {
				if h.Get(t, "ConfigMap/three") == nil || owners(h.Get(t, "ConfigMap/three")) != "" {
					t.Error("the object is gone, or has still an owner")
				}
			} else {
				harness.Eventually(t, "the garbage collector deletes all", func() bool {
					return h.Get(t, "ConfigMap/three") == nil && len(versionsOf(t, h)) == 0 && len(objectsOf(t, h, schema.GroupVersionResource{Version: "v1", Resource: "secrets"})) == 0
				})
			}
			h.ExpectFailure(t, []string{"status", "rel"}, "release: not found")
			h.ExpectFailure(t, []string{"upgrade", "rel", dir, "--set", "names=one"}, "has no deployed releases")
			h.MustRun("install", "rel", dir, "--set", `names=one\,two\,three`)
			expectStatuses(t, h, "deployed")
			if got := owners(h.Get(t, "ConfigMap/three")); got != "Release" {
				t.Errorf("the object has the owners %q", got)
			}
			h.MustRun("uninstall", "rel")
			expectNothingLeft(t, h)
		})
	}
}

// TestReleaseDeletedDuringUpgrade deletes the Release while an upgrade waits. The upgrade must fail, and say why, and the
// garbage collector delete what the Release owned.
func TestReleaseDeletedDuringUpgrade(t *testing.T) {
	t.Parallel()
	const gone = "no longer exists|release: not found"
	for name, tt := range map[string]struct {
		cascade string
		held    bool   // a finalizer holds the Release until the end of the upgrade
		ready   bool   // the Pod becomes ready: the upgrade would succeed
		says    string // alternatives, separated by bars
	}{
		"background": {cascade: "background", says: gone},
		// The Release exists until the garbage collector has deleted the others.
		"foreground": {cascade: "foreground", says: gone + "|Pod/slow was not ready"},
		"orphan":     {cascade: "orphan", ready: true, says: gone + "|release rel is being deleted"},
		"held":       {cascade: "background", held: true, ready: true, says: "release rel is being deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := withObjects(t)
			h.MustRun("install", "rel", charts.WriteTemplate(t, plainChart))
			if tt.held {
				patchRelease(t, h, `{"metadata":{"finalizers":["ordered.example/hold"]}}`)
			}
			slow := charts.WriteTemplate(t, plainChart+"---\n"+charts.Manifests(charts.Pod("slow", "", charts.NeverReady...)))
			r := h.RunWhile(t, "waiting for", func() {
				if out, err := h.Kubectl(t, "delete", "releases.helm.sh", "rel", "--cascade="+tt.cascade, "--wait=false"); err != nil {
					t.Errorf("%v: %s", err, out)
				}
				if tt.ready {
					h.Patch(t, "Pod/slow", `{"metadata":{"annotations":{"devcluster/pod":null}}}`)
				}
			}, "upgrade", "rel", slow, "--wait=ordered", "--timeout", "20s")
			if r.ExitCode == 0 || !slices.ContainsFunc(strings.Split(tt.says, "|"), func(text string) bool { return strings.Contains(r.Stderr, text) }) {
				t.Errorf("exit code %d:\n%s", r.ExitCode, r.Stderr)
			}
			if tt.held {
				patchRelease(t, h, `{"metadata":{"finalizers":null}}`)
			}
			harness.Eventually(t, "the Release and what it owned are deleted", func() bool {
				left := h.Get(t, "ConfigMap/own") != nil && h.Get(t, "Pod/slow") != nil
				return len(objectsOf(t, h, releaseapi.ReleaseGVR())) == 0 && left == (tt.cascade == "orphan")
			})
		})
	}
}

// TestForbiddenKinds checks the errors if an account must not write objects of one of the kinds. Nothing of the release may
// be left.
func TestForbiddenKinds(t *testing.T) {
	t.Parallel()
	all := map[string]string{"releases": "helm.sh", "releaseversions": "helm.sh", "leases": "coordination.k8s.io", "secrets": ""}
	for forbidden := range all {
		t.Run(forbidden, func(t *testing.T) {
			t.Parallel()
			h := withObjects(t)
			rules := []rbacv1.PolicyRule{{Verbs: []string{"get", "list"}, APIGroups: []string{"*"}, Resources: []string{"*"}}, {Verbs: []string{"*"}, APIGroups: []string{""}, Resources: []string{"configmaps"}}}
			for resource, group := range all {
				if resource != forbidden {
					rules = append(rules, rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{group}, Resources: []string{resource}})
				}
			}
			as := h.GrantRules(t, rules...)
			h.ExpectFailure(t, append([]string{"install", "rel", charts.WriteTemplate(t, plainChart)}, as...), forbidden, "forbidden")
			if h.Get(t, "ConfigMap/own") != nil {
				t.Error("the object of the chart was created")
			}
			for _, v := range versionsOf(t, h) {
				t.Errorf("ReleaseVersion %s is left", v)
			}
			if list := h.MustRun("list", "--all", "--short").Stdout; list != "" {
				t.Errorf("the releases are %s", list)
			}
			h.MustRun("install", "rel", charts.WriteTemplate(t, plainChart))
			h.MustRun("uninstall", "rel")
			expectNothingLeft(t, h)
		})
	}
}

// TestOtherNamespaces checks that a Release owns no objects in other namespaces, and none without a namespace: the garbage
// collector would delete them at once.
func TestOtherNamespaces(t *testing.T) {
	t.Parallel()
	h, other := withObjects(t), harness.New(t)
	h.MustRun("install", "rel", charts.WriteTemplate(t, fmt.Sprintf(`apiVersion: v1
kind: ConfigMap
metadata: {name: elsewhere, namespace: %s}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %s}
`, other.Namespace, h.Namespace)))
	clusterRoles := h.Client.Resource(schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"})
	role, err := clusterRoles.Get(t.Context(), h.Namespace, metav1.GetOptions{})
	harness.NoError(t, err)
	defer func() { harness.NoError(t, clusterRoles.Delete(t.Context(), h.Namespace, metav1.DeleteOptions{})) }()
	if got := owners(role) + owners(other.Get(t, "ConfigMap/elsewhere")); got != "" {
		t.Errorf("the objects have the owners %q", got)
	}
	awaitDeleted := createOwned(t, h)
	harness.NoError(t, h.Client.Resource(releaseapi.ReleaseGVR()).Namespace(h.Namespace).Delete(t.Context(), "rel", metav1.DeleteOptions{}))
	awaitDeleted()
	if other.Get(t, "ConfigMap/elsewhere") == nil {
		t.Error("the garbage collector has deleted an object in another namespace")
	}
}

// TestRestoredBackup restores a backup of a release without the references to owners, after all objects were deleted. The
// garbage collector must not delete any of them, and the release must continue.
func TestRestoredBackup(t *testing.T) {
	t.Parallel()
	h := withObjects(t)
	dir := threeRevisions(t, h)
	resources := []schema.GroupVersionResource{
		{Version: "v1", Resource: "configmaps"}, {Version: "v1", Resource: "secrets"}, releaseapi.ReleaseVersionGVR(), releaseapi.ReleaseGVR(),
	}
	backup := map[schema.GroupVersionResource][]unstructured.Unstructured{}
	for _, resource := range resources {
		backup[resource] = objectsOf(t, h, resource)
	}
	harness.NoError(t, h.Client.Resource(releaseapi.ReleaseGVR()).Namespace(h.Namespace).Delete(t.Context(), "rel", metav1.DeleteOptions{}))
	harness.Eventually(t, "the garbage collector deletes all", func() bool {
		return h.Get(t, "ConfigMap/three") == nil && len(versionsOf(t, h)) == 0 && len(objectsOf(t, h, resources[1])) == 0
	})
	for _, resource := range resources {
		for _, o := range backup[resource] {
			o.SetUID("")
			o.SetResourceVersion("")
			o.SetOwnerReferences(nil)
			if o.GetName() == "kube-root-ca.crt" {
				continue
			}
			_, err := h.Client.Resource(resource).Namespace(h.Namespace).Create(t.Context(), &o, metav1.CreateOptions{})
			harness.NoError(t, err)
		}
	}
	expectStatuses(t, h, "superseded superseded deployed")
	h.MustRun("upgrade", "rel", dir, "--set", `names=one\,three`)
	if owners(h.Get(t, "ConfigMap/three")) != "Release" || h.Get(t, "ConfigMap/two") != nil {
		t.Error("the objects are not as after an upgrade")
	}
	h.MustRun("rollback", "rel", "2")
	h.MustRun("uninstall", "rel")
	expectNothingLeft(t, h)
}

// TestRemovedPlaceholder checks that a release continues after somebody has deleted its placeholder for stock Helm.
func TestRemovedPlaceholder(t *testing.T) {
	t.Parallel()
	h := withObjects(t)
	dir := threeRevisions(t, h)
	h.Delete(t, "Secret/sh.helm.release.v1.rel.v1")
	h.MustRun("rollback", "rel", "1")
	h.MustRun("upgrade", "rel", dir, "--set", "names=one")
	h.MustRun("uninstall", "rel")
	expectNothingLeft(t, h)
}

// TestAlteredSecret checks that a Secret with other content than what was stored is detected, and that what does not need it
// still works.
func TestAlteredSecret(t *testing.T) {
	t.Parallel()
	h := withObjects(t)
	dir := threeRevisions(t, h)
	secrets := h.Cluster.Client().CoreV1().Secrets(h.Namespace)
	list, err := secrets.List(t.Context(), metav1.ListOptions{LabelSelector: "helm.sh/release=rel,helm.sh/revision=3"})
	harness.NoError(t, err)
	for i := range list.Items {
		altered := &list.Items[i]
		harness.NoError(t, secrets.Delete(t.Context(), altered.Name, metav1.DeleteOptions{}))
		altered.UID, altered.ResourceVersion = "", ""
		altered.Data["part"][len(altered.Data["part"])-1] ^= 1
		_, err := secrets.Create(t.Context(), altered, metav1.CreateOptions{})
		harness.NoError(t, err)
	}
	for _, line := range []string{"get values rel", "upgrade rel " + dir + " --set names=one", "rollback rel 3"} {
		h.ExpectFailure(t, strings.Fields(line), list.Items[0].Name, "does not contain what was stored")
	}
	harness.ExpectContains(t, h.MustRun("history", "rel").Stdout, "superseded", "deployed")
	harness.ExpectContains(t, h.MustRun("status", "rel").Stderr, list.Items[0].Name)
}

// TestDefinitionsChangeMeanwhile runs operations while the definitions are changed all the time, as by another version of
// Ordered Helm.
func TestDefinitionsChangeMeanwhile(t *testing.T) {
	t.Parallel()
	h := withObjects(t)
	definitions := h.Client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	ctx, stop := context.WithCancel(t.Context())
	changes := 0
	var changing sync.WaitGroup
	changing.Go(func() {
		for ; ctx.Err() == nil; changes++ {
			for _, name := range releasecrds.Names() {
				patch := fmt.Sprintf(`[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/description","value":"change %d"}]`, changes)
				if _, err := definitions.Patch(ctx, name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{}); err != nil && ctx.Err() == nil {
					t.Errorf("change %s: %v", name, err)
				}
			}
			harness.Eventually(t, "the kinds are served again", func() bool {
				for _, resource := range []schema.GroupVersionResource{releaseapi.ReleaseGVR(), releaseapi.ReleaseVersionGVR()} {
					if _, err := h.Client.Resource(resource).Namespace(h.Namespace).List(ctx, metav1.ListOptions{}); err != nil && ctx.Err() == nil {
						return false
					}
				}
				return true
			})
		}
	})
	dir := threeRevisions(t, h)
	h.MustRun("rollback", "rel", "1", "--wait=ordered")
	h.MustRun("upgrade", "rel", dir, "--set", `names=one\,four`, "--wait=ordered")
	expectStatuses(t, h, "superseded superseded superseded superseded deployed")
	h.MustRun("uninstall", "rel")
	stop()
	changing.Wait()
	if changes < 2 {
		t.Errorf("the definitions were changed %d times", changes)
	}
	expectNothingLeft(t, h)
}

// TestDeletedRevisions deletes revisions with a driver that knows nothing of the others. The Release must exist until the
// last one is deleted.
func TestDeletedRevisions(t *testing.T) {
	t.Parallel()
	h := withObjects(t)
	threeRevisions(t, h)
	for _, tt := range []struct{ revision, releases, newest int }{{1, 1, 3}, {3, 1, 2}, {2, 0, 0}} {
		_, err := newDriver(h).Delete(key(tt.revision))
		harness.NoError(t, err)
		parents := objectsOf(t, h, releaseapi.ReleaseGVR())
		if len(parents) != tt.releases {
			t.Fatalf("after the deletion of revision %d, there are %d Releases", tt.revision, len(parents))
		}
		if tt.releases > 0 {
			parent := &releaseapi.Release{}
			harness.NoError(t, releaseapi.FromUnstructured(&parents[0], parent))
			if parent.Status.Revision != int64(tt.newest) {
				t.Errorf("the newest revision is %d, want %d", parent.Status.Revision, tt.newest)
			}
		}
	}
	harness.Eventually(t, "the garbage collector deletes the objects", func() bool { return h.Get(t, "ConfigMap/one") == nil })
	expectNothingLeft(t, h)
}
