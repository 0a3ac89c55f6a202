// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	helmtime "helm.sh/helm/v3/pkg/time"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/ordered-helm/helm/internal/crdstorage"
	"github.com/ordered-helm/helm/internal/releaseapi"
	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// withObjects returns a Helm that stores releases as objects.
func withObjects(t *testing.T) *harness.Helm {
	t.Helper()
	h := harness.New(t)
	harness.InstallDefinitions(t, h.Cluster)
	h.Env = append(h.Env, "HELM_DRIVER=crd")
	return h
}

// newDriver returns a new driver, which knows nothing of what others have read.
func newDriver(h *harness.Helm) *crdstorage.Driver {
	return crdstorage.New(crdstorage.Options{
		Namespace: h.Namespace, Log: h.TB.Logf, OwnsObjects: true,
		Connect: func() (kubernetes.Interface, dynamic.Interface, error) { return h.Cluster.Client(), h.Client, nil },
	})
}

// objectsOf returns the objects of a resource in the namespace of a test.
func objectsOf(t *testing.T, h *harness.Helm, resource schema.GroupVersionResource) []unstructured.Unstructured {
	t.Helper()
	found, err := h.Client.Resource(resource).Namespace(h.Namespace).List(t.Context(), metav1.ListOptions{})
	harness.NoError(t, err)
	return found.Items
}

// owners returns the kinds of the owners of an object, separated by spaces.
func owners(o *unstructured.Unstructured) string {
	var kinds []string
	for _, owner := range o.GetOwnerReferences() {
		kinds = append(kinds, owner.Kind)
	}
	return strings.Join(kinds, " ")
}

// expectNothingLeft checks that nothing of any release is left in the namespace.
func expectNothingLeft(t *testing.T, h *harness.Helm) {
	t.Helper()
	for _, name := range leftObjects(t, h) {
		t.Errorf("%s is left", name)
	}
}

// awaitNothingLeft is like expectNothingLeft, but waits for the garbage collector. It can take half a minute until that
// knows new kinds.
func awaitNothingLeft(t *testing.T, h *harness.Helm) {
	t.Helper()
	harness.Eventually(t, "nothing is left", func() bool { return len(leftObjects(t, h)) == 0 })
}

// leftObjects returns what is stored of releases in the namespace.
func leftObjects(t *testing.T, h *harness.Helm) (names []string) {
	t.Helper()
	for _, resource := range []schema.GroupVersionResource{
		releaseapi.ReleaseGVR(), releaseapi.ReleaseVersionGVR(),
		{Version: "v1", Resource: "secrets"}, {Group: "coordination.k8s.io", Version: "v1", Resource: "leases"},
	} {
		for _, o := range objectsOf(t, h, resource) {
			names = append(names, resource.Resource+" "+o.GetName())
		}
	}
	return names
}

const ownedChart = `apiVersion: v1
kind: ConfigMap
metadata: {name: owned}
data: {text: {{ quote .Values.text }}, service: {{ .Release.Service }}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kept{{ if .Values.keep }}, annotations: {helm.sh/resource-policy: keep}{{ end }}}
data: {text: {{ quote .Values.text }}}
`

// TestReleaseAsObjects follows a release through all operations, and checks what is stored of it, and where.
func TestReleaseAsObjects(t *testing.T) {
	t.Parallel()
	h := withObjects(t)
	dir := charts.WriteTemplate(t, ownedChart)
	const password = "correct-horse-battery"
	h.MustRun("install", "rel", dir, "--set", "text="+password, "--set", "keep=true", "--description", "first")
	h.MustRun("upgrade", "rel", dir, "--set", "text="+password)
	if data, _, _ := unstructured.NestedString(h.Get(t, "ConfigMap/owned").Object, "data", "service"); data != "Helm" {
		t.Errorf("the service of the release is %q", data)
	}
	for name, want := range map[string]string{"owned": "Release", "kept": "Release"} {
		if got := owners(h.Get(t, "ConfigMap/"+name)); got != want {
			t.Errorf("%s has the owners %q, want %q", name, got, want)
		}
	}
	h.MustRun("rollback", "rel", "1")
	for name, want := range map[string]string{"owned": "Release", "kept": ""} {
		if got := owners(h.Get(t, "ConfigMap/"+name)); got != want {
			t.Errorf("%s has the owners %q after it must be kept, want %q", name, got, want)
		}
	}
	harness.ExpectContains(t, h.MustRun("history", "rel").Stdout, "superseded", "Rollback to 1")
	harness.ExpectContains(t, h.MustRun("get", "values", "rel").Stdout, password)
	harness.ExpectContains(t, h.MustRun("list").Stdout, "rel", "deployed")
	parents, versions := objectsOf(t, h, releaseapi.ReleaseGVR()), objectsOf(t, h, releaseapi.ReleaseVersionGVR())
	if len(parents) != 1 || len(versions) != 3 {
		t.Fatalf("%d Releases and %d ReleaseVersions, want 1 and 3", len(parents), len(versions))
	}
	parent := &releaseapi.Release{}
	harness.NoError(t, releaseapi.FromUnstructured(&parents[0], parent))
	last := slices.MaxFunc(versions, func(a, b unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	if s := parent.Status; s.Revision != 3 || s.Phase != release.StatusDeployed || s.LatestVersion != last.GetName() || s.CurrentVersion != last.GetName() || s.Counts.Resources != 2 {
		t.Errorf("the Release has the status %+v, the last version is %s", s, last.GetName())
	}
	for _, o := range slices.Concat(parents, versions) {
		if text, err := o.MarshalJSON(); err != nil || strings.Contains(string(text), password) {
			t.Errorf("%s contains the password: %s, %v", o.GetName(), text, err)
		}
		if o.GetLabels()[releaseapi.HeritageLabel] != releaseapi.Heritage {
			t.Errorf("%s has the labels %v", o.GetName(), o.GetLabels())
		}
	}
	for _, o := range objectsOf(t, h, schema.GroupVersionResource{Version: "v1", Resource: "secrets"}) {
		want := "ReleaseVersion"
		if strings.HasPrefix(o.GetName(), "sh.helm.release.v1.") {
			want = "Release"
		}
		if got := owners(&o); got != want {
			t.Errorf("%s has the owners %q, want %q", o.GetName(), got, want)
		}
	}
	h.MustRun("uninstall", "rel")
	if h.Get(t, "ConfigMap/owned") != nil || h.Get(t, "ConfigMap/kept") == nil {
		t.Error("the objects are not as after an uninstall")
	}
	expectNothingLeft(t, h)
}

// TestConditions checks the conditions after operations that wait, do not wait and fail.
func TestConditions(t *testing.T) {
	t.Parallel()
	h := withObjects(t)
	good, bad := charts.WriteTemplate(t, ownedChart), charts.WriteTemplate(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: _}\n")
	for _, step := range []struct {
		args []string
		want string
	}{
		{[]string{"install", "rel", good}, "Deployed=True Ready=Unknown(NotWaited)"},
		{[]string{"upgrade", "rel", good, "--wait"}, "Deployed=True Ready=True(Waited)"},
		{[]string{"upgrade", "rel", good, "--wait=ordered"}, "Deployed=True Ready=True(Waited)"},
		{[]string{"upgrade", "rel", bad}, "Deployed=False Ready=False(NotReady)"},
		{[]string{"rollback", "rel", "2"}, "Deployed=True Ready=Unknown(NotWaited)"},
	} {
		h.Run(step.args...)
		parent := &releaseapi.Release{}
		harness.NoError(t, releaseapi.FromUnstructured(&objectsOf(t, h, releaseapi.ReleaseGVR())[0], parent))
		deployed, ready := meta.FindStatusCondition(parent.Status.Conditions, releaseapi.ConditionDeployed), meta.FindStatusCondition(parent.Status.Conditions, releaseapi.ConditionReady)
		if got := fmt.Sprintf("Deployed=%s Ready=%s(%s)", deployed.Status, ready.Status, ready.Reason); got != step.want {
			t.Errorf("after %v: %s, want %s", step.args, got, step.want)
		}
	}
}

// TestOwnerReferencesOff checks that HELM_OWNER_REFERENCES=false sets no references.
func TestOwnerReferencesOff(t *testing.T) {
	t.Parallel()
	h := withObjects(t)
	h.Env = append(h.Env, "HELM_OWNER_REFERENCES=false")
	h.MustRun("install", "rel", charts.WriteTemplate(t, ownedChart), "--set", "text=a")
	if got := owners(h.Get(t, "ConfigMap/owned")); got != "" {
		t.Errorf("it has the owners %q", got)
	}
}

// TestDeletedRelease checks that the garbage collector deletes all that a Release owns.
func TestDeletedRelease(t *testing.T) {
	t.Parallel()
	h := withObjects(t)
	h.MustRun("install", "rel", charts.WriteTemplate(t, ownedChart), "--set", "text=a", "--set", "keep=true")
	harness.NoError(t, h.Client.Resource(releaseapi.ReleaseGVR()).Namespace(h.Namespace).Delete(t.Context(), "rel", metav1.DeleteOptions{}))
	harness.Eventually(t, "the garbage collector deletes all", func() bool {
		return h.Get(t, "ConfigMap/owned") == nil && len(objectsOf(t, h, releaseapi.ReleaseVersionGVR())) == 0 &&
			len(objectsOf(t, h, schema.GroupVersionResource{Version: "v1", Resource: "secrets"})) == 0
	})
	if h.Get(t, "ConfigMap/kept") == nil {
		t.Error("the object that must be kept is gone")
	}
	h.MustRun("install", "rel", charts.WriteTemplate(t, ownedChart), "--set", "text=a", "--take-ownership")
}

// TestStockRefusesObjects checks that stock Helm changes nothing of a release that is stored as objects, and that
// the release works afterwards.
func TestStockRefusesObjects(t *testing.T) {
	t.Parallel()
	h := withObjects(t)
	dir := charts.WriteTemplate(t, ownedChart)
	h.MustRun("install", "rel", dir, "--set", "text=a")
	before := h.Get(t, "ConfigMap/owned")
	stock := *h
	stock.Env = append(slices.Clone(h.Env), "HELM_DRIVER=secret")
	for _, args := range [][]string{
		{"install", "rel", dir}, {"upgrade", "rel", dir, "--set", "text=b"}, {"upgrade", "--install", "rel", dir}, {"rollback", "rel", "1"}, {"uninstall", "rel"},
	} {
		if r := stock.RunStock(t, args...); r.ExitCode == 0 {
			t.Errorf("stock helm %v succeeded: %s", args, r.Stdout)
		}
	}
	if after := h.Get(t, "ConfigMap/owned"); after == nil || after.GetResourceVersion() != before.GetResourceVersion() {
		t.Errorf("stock Helm changed the object to %v", after)
	}
	h.MustRun("upgrade", "rel", dir, "--set", "text=c")
	h.MustRun("uninstall", "rel")
	expectNothingLeft(t, h)
	stock.MustRunStock(t, "install", "rel", dir, "--set", "text=d")
	harness.ExpectContains(t, h.Run("install", "rel", dir).Stderr, "set HELM_DRIVER=secret")
}

func newRelease(h *harness.Helm, revision int) *release.Release {
	now := helmtime.Now()
	return &release.Release{
		Name: "rel", Namespace: h.Namespace, Version: revision, Manifest: "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
		Info:  &release.Info{Status: release.StatusPendingInstall, FirstDeployed: now, LastDeployed: now},
		Chart: &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "app", Version: "0.1.0"}},
	}
}

func key(revision int) string { return fmt.Sprintf("sh.helm.release.v1.rel.v%d", revision) }

// TestRevisionIsAllocatedOnce creates each revision with several drivers at the same time, and checks that one of them
// succeeds.
func TestRevisionIsAllocatedOnce(t *testing.T) {
	t.Parallel()
	h := withObjects(t)
	for revision := 1; revision <= 4; revision++ {
		errs := make([]error, 6)
		var running sync.WaitGroup
		for i := range errs {
			running.Go(func() { errs[i] = newDriver(h).Create(key(revision), newRelease(h, revision)) })
		}
		running.Wait()
		created := 0
		for _, err := range errs {
			switch {
			case err == nil:
				created++
			case !errors.Is(err, driver.ErrReleaseExists):
				t.Errorf("revision %d: %v", revision, err)
			}
		}
		if created != 1 {
			t.Errorf("revision %d was created %d times", revision, created)
		}
	}
	found, err := newDriver(h).Query(map[string]string{"owner": "helm", "name": "rel"})
	if err != nil || len(found) != 4 || len(objectsOf(t, h, releaseapi.ReleaseVersionGVR())) != 4 {
		t.Errorf("got %d revisions, %v, want 4", len(found), err)
	}
}

// TestUncommittedVersion checks that a version which an operation was killed too early to commit belongs to no
// history, and is deleted by the next operation.
func TestUncommittedVersion(t *testing.T) {
	t.Parallel()
	h := withObjects(t)
	d := newDriver(h)
	harness.NoError(t, d.Create(key(1), newRelease(h, 1)))
	versions := objectsOf(t, h, releaseapi.ReleaseVersionGVR())
	for i, name := range []string{"01aryz6s410000000000000000", "7zzzzzzzzz0000000000000000"} {
		uncommitted := versions[0].DeepCopy()
		uncommitted.SetName(name)
		uncommitted.SetResourceVersion("")
		harness.NoError(t, unstructured.SetNestedField(uncommitted.Object, int64(i+1), "spec", "revision"))
		_, err := h.Client.Resource(releaseapi.ReleaseVersionGVR()).Namespace(h.Namespace).Create(t.Context(), uncommitted, metav1.CreateOptions{})
		harness.NoError(t, err)
	}
	found, err := d.Query(map[string]string{"owner": "helm", "name": "rel"})
	if err != nil || len(found) != 1 {
		t.Fatalf("got %d revisions, %v, want 1", len(found), err)
	}
	harness.NoError(t, d.Create(key(2), newRelease(h, 2)))
	if left := objectsOf(t, h, releaseapi.ReleaseVersionGVR()); len(left) != 2 {
		t.Errorf("%d versions are left, want 2", len(left))
	}
}

// TestMissingSection checks what is still possible with a release of which a Secret was deleted.
func TestMissingSection(t *testing.T) {
	t.Parallel()
	h := withObjects(t)
	dir := charts.WriteTemplate(t, ownedChart)
	h.MustRun("install", "rel", dir, "--set", "text=a")
	h.MustRun("upgrade", "rel", dir, "--set", "text=b")
	versions := objectsOf(t, h, releaseapi.ReleaseVersionGVR())
	slices.SortFunc(versions, func(a, b unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	first := &releaseapi.ReleaseVersion{}
	harness.NoError(t, releaseapi.FromUnstructured(&versions[0], first))
	secret := first.Status.Payload[0].Secrets[0]
	harness.NoError(t, h.Cluster.Client().CoreV1().Secrets(h.Namespace).Delete(t.Context(), secret, metav1.DeleteOptions{}))
	harness.ExpectContains(t, h.Run("get", "values", "rel", "--revision", "1").Stderr, secret, "does not exist")
	harness.ExpectContains(t, h.Run("rollback", "rel", "1").Stderr, secret)
	harness.ExpectContains(t, h.MustRun("history", "rel").Stdout, "superseded", "deployed")
	h.MustRun("upgrade", "rel", dir, "--set", "text=c")
	h.MustRun("uninstall", "rel")
	expectNothingLeft(t, h)
}

// TestReleaseWithoutRevision checks that an uninstall deletes the Release of an install that was killed before it
// had stored a revision.
func TestReleaseWithoutRevision(t *testing.T) {
	t.Parallel()
	h := withObjects(t)
	_, err := h.Client.Resource(releaseapi.ReleaseGVR()).Namespace(h.Namespace).Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": releaseapi.APIVersion, "kind": releaseapi.ReleaseKind, "metadata": map[string]any{"name": "rel"},
	}}, metav1.CreateOptions{})
	harness.NoError(t, err)
	h.MustRun("uninstall", "rel", "--ignore-not-found")
	if left := objectsOf(t, h, releaseapi.ReleaseGVR()); len(left) != 0 {
		t.Errorf("%d Releases are left", len(left))
	}
}

// TestPlanOfUnchangedRelease checks that a plan does not show the references to the Release as changes.
func TestPlanOfUnchangedRelease(t *testing.T) {
	t.Parallel()
	h := withObjects(t)
	chart := charts.Write(t, charts.Last(""))
	h.MustRun("install", "rel", chart, "--wait=ordered")
	h.MustRun("plan", "rel", chart, "--wait=ordered")
}
