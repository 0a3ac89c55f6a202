// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"reflect"
	"slices"
	"strconv"
	"testing"

	"helm.sh/helm/v3/pkg/release"
	helmtime "helm.sh/helm/v3/pkg/time"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/history/historytest"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/redact"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// uninstallStarted changes a revision as the start of an uninstall does, and returns it.
func uninstallStarted(rel *release.Release) *release.Release {
	rel.Info.Deleted = helmtime.Now()
	return rel
}

// withEarlierUninstall adds an order record to rel that says that an uninstall of an earlier
// revision has started. about is the revision that this data in the order record belongs to.
func withEarlierUninstall(t *testing.T, rel *release.Release, about int) *release.Release {
	t.Helper()
	rel.Chart = historytest.RevisionWithChart(rel.Version, rel.Info.Status).Chart
	return historytest.WithRecord(t, rel, &orderrecord.Record{
		Charts: &sequencer.Chart{Name: "app"}, Earlier: &orderrecord.EarlierRevisions{Revision: about, UninstallStarted: true},
	})
}

// TestDeployedRevisions checks which revisions of a history were deployed, so that their
// objects belong to the release even without ownership labels.
func TestDeployedRevisions(t *testing.T) {
	const deployed, failed, superseded = release.StatusDeployed, release.StatusFailed, release.StatusSuperseded
	revision := historytest.Revision
	for name, tt := range map[string]struct {
		history []*release.Release
		want    []int
		removed bool
	}{
		"deployed":                         {history: []*release.Release{revision(1, deployed)}, want: []int{1}},
		"failed since":                     {history: []*release.Release{revision(1, deployed), revision(2, failed)}, want: []int{1}},
		"uninstall failed":                 {history: []*release.Release{uninstallStarted(revision(1, failed))}, removed: true},
		"failed, and uninstall failed":     {history: []*release.Release{revision(1, deployed), uninstallStarted(revision(2, failed))}, removed: true},
		"failed after uninstall":           {history: []*release.Release{revision(1, deployed), uninstallStarted(revision(2, failed)), revision(3, failed)}, removed: true},
		"deployed after uninstall":         {history: []*release.Release{revision(1, superseded), uninstallStarted(revision(2, failed)), revision(3, deployed), revision(4, failed)}, want: []int{3}},
		"uninstall of a deleted revision":  {history: []*release.Release{revision(1, deployed), withEarlierUninstall(t, revision(3, failed), 3)}, removed: true},
		"record is about another revision": {history: []*release.Release{revision(1, deployed), withEarlierUninstall(t, revision(3, failed), 2)}, want: []int{1}},
	} {
		inv := New(tt.history, tt.history[len(tt.history)-1])
		var got []int
		for _, rel := range inv.revisions {
			if inv.deployed[rel] {
				got = append(got, rel.Version)
			}
		}
		if !slices.Equal(got, tt.want) || inv.uninstallStarted != tt.removed {
			t.Errorf("%s: deployed %v, removed %v", name, got, inv.uninstallStarted)
		}
		earlier := inv.Earlier(9, nil, nil)
		if tt.removed != (earlier != nil && earlier.UninstallStarted && earlier.Revision == 9) {
			t.Errorf("%s: the next revision remembers %+v", name, earlier)
		}
	}
}

// secret returns a Secret as a revision declares it.
func secret(password string) *object.Info {
	return &object.Info{
		Name: "s", Namespace: "default",
		Mapping: &meta.RESTMapping{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, Scope: meta.RESTScopeNamespace},
		Object: &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s", "namespace": "default"},
			"stringData": map[string]any{"password": password},
		}},
	}
}

// TestObjectOfSeveralRevisions adds revisions of an object in different orders. It checks
// that the object has the mapping of the newest revision, and that the values of all
// revisions are redacted.
func TestObjectOfSeveralRevisions(t *testing.T) {
	values := map[int]string{1: "first-value", 2: "second-value", 3: "third-value"}
	for _, order := range [][]int{{1, 2, 3}, {3, 1, 2}, {2, 3, 1}} {
		rel := historytest.Revision(3, release.StatusFailed)
		inv := New([]*release.Release{rel}, rel)
		var given []*object.Info
		for _, version := range order {
			info := secret(values[version])
			given = append(given, info)
			info.Mapping.GroupVersionKind.Version = "v" + strconv.Itoa(version) // the API version in which it was served
			if err := inv.add(object.IDOf(info), info, version); err != nil {
				t.Fatal(err)
			}
		}
		if len(inv.objects) != 1 || inv.objects[0].Mapping.GroupVersionKind.Version != "v3" {
			t.Errorf("%v: got %v", order, inv.objects)
		}
		for i, info := range given {
			unchanged := secret(values[order[i]])
			unchanged.Mapping.GroupVersionKind.Version = "v" + strconv.Itoa(order[i])
			if !reflect.DeepEqual(info, unchanged) {
				t.Errorf("%v: the object of revision %d was changed to %v", order, order[i], info)
			}
		}
		redactor := redact.ForObjects(inv.Declared())
		for _, value := range values {
			if got := redactor.Text("login with " + value); got != "login with ******" {
				t.Errorf("%v: %q", order, got)
			}
		}
	}
}
