// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"slices"
	"strconv"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	helmtime "helm.sh/helm/v3/pkg/time"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/redact"
	"github.com/ordered-helm/helm/internal/releaserecord"
	"github.com/ordered-helm/helm/internal/sequencer"
)

func uninstalled(rel *release.Release) *release.Release {
	rel.Info.Deleted = helmtime.Now()
	return rel
}

// knowing is a revision that knows of an uninstall that has begun before, as its
// record for the revision of some number says.
func knowing(t *testing.T, rel *release.Release, of int) *release.Release {
	t.Helper()
	ch, err := releaserecord.WithRecord(&chart.Chart{}, &releaserecord.Record{Charts: &sequencer.Chart{Name: "app"}, Earlier: &releaserecord.EarlierRevisions{Revision: of, UninstallStarted: true}})
	if err != nil {
		t.Fatal(err)
	}
	rel.Chart = ch
	return rel
}

// TestWhatCountsAsDeployed tells from histories whose objects are the release's
// without bearing its marks.
func TestWhatCountsAsDeployed(t *testing.T) {
	deployed, failed, superseded := release.StatusDeployed, release.StatusFailed, release.StatusSuperseded
	for name, tt := range map[string]struct {
		history []*release.Release
		want    []int
		removed bool
	}{
		"deployed":                              {history: []*release.Release{revision(1, deployed)}, want: []int{1}},
		"failed since":                          {history: []*release.Release{revision(1, deployed), revision(2, failed)}, want: []int{1}},
		"its uninstall failed":                  {history: []*release.Release{uninstalled(revision(1, failed))}, removed: true},
		"failed, and its uninstall too":         {history: []*release.Release{revision(1, deployed), uninstalled(revision(2, failed))}, removed: true},
		"failed after its uninstall":            {history: []*release.Release{revision(1, deployed), uninstalled(revision(2, failed)), revision(3, failed)}, removed: true},
		"deployed after its uninstall":          {history: []*release.Release{revision(1, superseded), uninstalled(revision(2, failed)), revision(3, deployed), revision(4, failed)}, want: []int{3}},
		"its uninstall is forgotten":            {history: []*release.Release{revision(1, deployed), knowing(t, revision(3, failed), 3)}, removed: true},
		"what it knows was of another revision": {history: []*release.Release{revision(1, deployed), knowing(t, revision(3, failed), 2)}, want: []int{1}},
	} {
		p := newPrior(tt.history, tt.history[len(tt.history)-1])
		var got []int
		for _, rel := range p.revisions {
			if p.deployed[rel] {
				got = append(got, rel.Version)
			}
		}
		if !slices.Equal(got, tt.want) || p.removed != tt.removed {
			t.Errorf("%s: deployed %v, removed %v", name, got, p.removed)
		}
		earlier := p.earlier(9, nil, nil)
		if tt.removed != (earlier != nil && earlier.UninstallStarted && earlier.Revision == 9) {
			t.Errorf("%s: the next revision knows %+v", name, earlier)
		}
	}
}

// secretOf is a Secret as a revision declares it.
func secretOf(password string) *kubeInfo {
	return &kubeInfo{
		Name: "s", Namespace: "default",
		Mapping: &meta.RESTMapping{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, Scope: meta.RESTScopeNamespace},
		Object: &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s", "namespace": "default"},
			"stringData": map[string]any{"password": password},
		}},
	}
}

// TestWhatEveryRevisionDeclared adds revisions in any order: the newest is what an
// object is taken for, and nothing that any of them declared goes unmasked.
func TestWhatEveryRevisionDeclared(t *testing.T) {
	values := map[int]string{1: "first-value", 2: "second-value", 3: "third-value"}
	for _, order := range [][]int{{1, 2, 3}, {3, 1, 2}, {2, 3, 1}} {
		rel := revision(3, release.StatusFailed)
		p := newPrior([]*release.Release{rel}, rel)
		for _, version := range order {
			info := secretOf(values[version])
			info.Mapping.GroupVersionKind.Version = "v" + strconv.Itoa(version) // by which it was served
			if err := p.add(idOf(info), info, version); err != nil {
				t.Fatal(err)
			}
		}
		if len(p.objects) != 1 || p.objects[0].Mapping.GroupVersionKind.Version != "v3" {
			t.Errorf("%v: got %v", order, p.objects)
		}
		d := &deployment{rollout: &rollout{}, prior: p, ledger: newLedger(nil, rel)}
		masker := redact.ForObjects(d.contents())
		for _, value := range values {
			if got := masker.Text("login with " + value); got != "login with ******" {
				t.Errorf("%v: %q", order, got)
			}
		}
	}
}
