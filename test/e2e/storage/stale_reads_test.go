// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"fmt"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordered-helm/helm/internal/releaseapi"
	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/fault"
	"github.com/ordered-helm/helm/test/harness"
)

// query is the selector with which Helm's storage reads the history of the release.
func query() map[string]string { return map[string]string{"owner": "helm", "name": "rel"} }

// TestReleaseReadAfterVersions delays the request for the Release until another upgrade has stored a revision, which is not
// among the versions that were listed at the same time. That revision must not be lost.
func TestReleaseReadAfterVersions(t *testing.T) {
	t.Parallel()
	h := withObjects(t)
	dir := threeRevisions(t, h)
	direct := *h
	held, pass := h.HoldRequests(t, func(what fault.Request) bool {
		return what.Verb == "get" && what.Resource == releaseapi.ReleaseResource
	})
	upgrade := h.Start(t, "upgrade", "rel", dir, "--set", `names=one\,five`)
	harness.AwaitClosed(t, held, "a request for the Release")
	direct.MustRun("upgrade", "rel", dir, "--set", `names=one\,four`)
	pass()
	upgrade.ExpectExit(t, 0)
	expectStatuses(t, &direct, "superseded superseded superseded superseded deployed")
	if direct.Get(t, "ConfigMap/four") != nil || direct.Get(t, "ConfigMap/five") == nil {
		t.Error("the objects are not those of the last upgrade")
	}
}

// TestPartsReplacedAfterRead replaces a Secret of a revision between the request for the revision and that for the Secret,
// as an operation does that stores a changed revision.
func TestPartsReplacedAfterRead(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"get manifest rel", "get hooks rel --revision 1", "upgrade rel DIR --set names=one"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			h := withObjects(t)
			dir := charts.WriteTemplate(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n")
			h.MustRun("install", "rel", dir)
			name := versionsOf(t, h)[0]
			direct := *h
			held, pass := h.HoldRequests(t, func(what fault.Request) bool {
				return what.Verb == "get" && what.Resource == "secrets" && strings.HasPrefix(what.Name, "rel."+name)
			})
			reader := h.Start(t, strings.Fields(strings.ReplaceAll(command, "DIR", dir))...)
			harness.AwaitClosed(t, held, "a request for a Secret")
			replaceParts(t, &direct, name)
			pass()
			reader.ExpectExit(t, 0)
		})
	}
}

// replaceParts replaces the Secrets of a ReleaseVersion with copies.
func replaceParts(t *testing.T, h *harness.Helm, name string) {
	t.Helper()
	secrets := h.Cluster.Client().CoreV1().Secrets(h.Namespace)
	versions := h.Client.Resource(releaseapi.ReleaseVersionGVR()).Namespace(h.Namespace)
	version, err := versions.Get(t.Context(), name, metav1.GetOptions{})
	harness.NoError(t, err)
	payload, _, err := unstructured.NestedSlice(version.Object, "status", "payload")
	harness.NoError(t, err)
	for _, entry := range payload {
		section, _ := entry.(map[string]any)
		parts, _ := section["secrets"].([]any)
		for i, part := range parts {
			was, err := secrets.Get(t.Context(), fmt.Sprint(part), metav1.GetOptions{})
			harness.NoError(t, err)
			harness.NoError(t, secrets.Delete(t.Context(), was.Name, metav1.DeleteOptions{}))
			was.Name, was.ResourceVersion, was.UID = strings.Replace(was.Name, "-0-", "-9-", 1), "", "" // the rest is a digest
			_, err = secrets.Create(t.Context(), was, metav1.CreateOptions{})
			harness.NoError(t, err)
			parts[i] = was.Name
		}
	}
	harness.NoError(t, unstructured.SetNestedSlice(version.Object, payload, "status", "payload"))
	_, err = versions.Update(t.Context(), version, metav1.UpdateOptions{})
	harness.NoError(t, err)
}

// TestVersionIsCommittedAfterRead checks that a program does not delete a revision that did not belong to the release when
// the program read it, and does by now.
func TestVersionIsCommittedAfterRead(t *testing.T) {
	t.Parallel()
	h := withObjects(t)
	program := newDriver(h)
	harness.NoError(t, program.Create(key(1), newRelease(h, 1)))
	versions := h.Client.Resource(releaseapi.ReleaseVersionGVR()).Namespace(h.Namespace)
	later, err := versions.Get(t.Context(), versionsOf(t, h)[0], metav1.GetOptions{})
	harness.NoError(t, err)
	later.SetName(later.GetName()[:10] + strings.Repeat("z", 16))
	later.SetResourceVersion("")
	later.SetLabels(map[string]string{"heritage": "helm", "helm.sh/release": "rel", "helm.sh/revision": "2"})
	later.Object["spec"] = map[string]any{"releaseName": "rel", "revision": int64(2)}
	later, err = versions.Create(t.Context(), later, metav1.CreateOptions{})
	harness.NoError(t, err)
	if list, err := program.Query(query()); err != nil || len(list) != 1 {
		t.Fatalf("there are %d revisions, %v", len(list), err)
	}
	patchRelease(t, h, fmt.Sprintf(`{"status":{"revision":2,"latestVersion":%q}}`, later.GetName()))
	_, err = versions.Patch(t.Context(), later.GetName(), types.MergePatchType, []byte(`{"status":{"phase":"deployed"}}`), metav1.PatchOptions{})
	harness.NoError(t, err)
	if list, err := program.List(func(*release.Release) bool { return true }); err != nil || len(list) != 2 {
		t.Fatalf("there are %d revisions, %v", len(list), err)
	}
	if list, err := program.Query(query()); err != nil || len(list) != 2 {
		t.Fatalf("there are %d revisions, %v", len(list), err)
	}
	harness.NoError(t, program.Create(key(3), newRelease(h, 3)))
	if left := versionsOf(t, h); len(left) != 3 {
		t.Errorf("the versions are %v", left)
	}
}

// TestProgramInstallsAgain checks that a program that keeps its storage can install a release again, whatever it knows of an
// earlier one.
func TestProgramInstallsAgain(t *testing.T) {
	t.Parallel()
	h := withObjects(t)
	program := newDriver(h)
	releases := h.Client.Resource(releaseapi.ReleaseGVR()).Namespace(h.Namespace)
	for range 2 {
		harness.NoError(t, program.Create(key(1), newRelease(h, 1)))
		deployed := newRelease(h, 1)
		deployed.Info.Status = release.StatusDeployed
		harness.NoError(t, program.Update(key(1), deployed))
		parent := &releaseapi.Release{}
		harness.NoError(t, releaseapi.FromUnstructured(&objectsOf(t, h, releaseapi.ReleaseGVR())[0], parent))
		if ready := parent.Status.Conditions[1]; ready.Reason != releaseapi.ReasonNotWaited || parent.Status.Counts.Versions != 1 {
			t.Errorf("the status is %+v", parent.Status)
		}
		program.SetWaited("rel", 1)
		_, err := newDriver(h).Delete(key(1)) // by another program
		harness.NoError(t, err)
		if _, err := program.Query(query()); err == nil {
			t.Error("the program still finds the release")
		}
	}
	// An installation that was killed has left a Release without a revision, which another program deletes.
	object, err := releaseapi.ToUnstructured(releaseapi.NewRelease(h.Namespace, "rel"))
	harness.NoError(t, err)
	_, err = releases.Create(t.Context(), object, metav1.CreateOptions{})
	harness.NoError(t, err)
	if _, err := program.Query(query()); err == nil {
		t.Error("the program finds a release without a revision")
	}
	harness.NoError(t, releases.Delete(t.Context(), "rel", metav1.DeleteOptions{}))
	harness.NoError(t, program.Create(key(1), newRelease(h, 1)))
}

// TestOnlyRevisionIsPruned checks that the Release stays when --history-max deletes its only revision: it owns the objects.
func TestOnlyRevisionIsPruned(t *testing.T) {
	t.Parallel()
	h := withObjects(t)
	failing := charts.WriteTemplate(t, plainChart+"---\n"+charts.Manifests(charts.Pod("slow", "", charts.NeverReady...)))
	h.ExpectFailure(t, []string{"install", "rel", failing, "--wait", "--timeout", "1s"}, "slow")
	before := h.Get(t, "ConfigMap/own")
	h.MustRun("upgrade", "rel", failing, "--history-max", "1")
	awaitDeleted := createOwned(t, h)
	expectStatuses(t, h, "deployed")
	if after := h.Get(t, "ConfigMap/own"); after == nil || after.GetUID() != before.GetUID() || after.GetOwnerReferences()[0].UID != before.GetOwnerReferences()[0].UID {
		t.Errorf("the object was %v, and is %v", before, after)
	}
	h.MustRun("uninstall", "rel")
	awaitDeleted()
	expectNothingLeft(t, h)
}
