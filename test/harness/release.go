// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/ordered-helm/helm/internal/crdstorage"
)

// Storage returns the storage of the releases in the namespace, for tests that read or change
// stored releases.
func (h *Helm) Storage() *storage.Storage {
	if StorageDriver() == crdstorage.DriverName {
		return storage.Init(crdstorage.New(crdstorage.Options{
			Namespace: h.Namespace, Log: h.TB.Logf,
			Connect: func() (kubernetes.Interface, dynamic.Interface, error) { return h.Cluster.Client(), h.Client, nil },
		}))
	}
	return storage.Init(driver.NewSecrets(h.Cluster.Client().CoreV1().Secrets(h.Namespace)))
}

// History returns the stored revisions of a release, oldest first.
func (h *Helm) History(tb testing.TB, name string) []*release.Release {
	tb.Helper()
	list, err := h.Storage().History(name)
	NoError(tb, err)
	releaseutil.SortByRevision(list)
	return list
}

// Statuses returns the statuses of the stored revisions, oldest first, separated by spaces.
func (h *Helm) Statuses(tb testing.TB, name string) string {
	tb.Helper()
	var list []string
	for _, rel := range h.History(tb, name) {
		list = append(list, rel.Info.Status.String())
	}
	return strings.Join(list, " ")
}

// ExpectStatuses checks the statuses of the stored revisions, such as "superseded deployed".
func (h *Helm) ExpectStatuses(tb testing.TB, name, want string) {
	tb.Helper()
	if got := h.Statuses(tb, name); got != want {
		tb.Errorf("the revisions of release %s are %q, want %q", name, got, want)
	}
}

// LastRevision returns the last stored revision.
func (h *Helm) LastRevision(tb testing.TB, name string) *release.Release {
	tb.Helper()
	list := h.History(tb, name)
	return list[len(list)-1]
}

// ExpectManifestObjects checks that exactly the objects in the manifest of the last revision,
// and those in kept, belong to the release.
func (h *Helm) ExpectManifestObjects(tb testing.TB, name string, kept ...string) {
	tb.Helper()
	o := &Order{}
	o.AddManifest(tb, h.LastRevision(tb, name).Manifest)
	h.ExpectObjects(tb, name, append(ObjectIDs(o.Objects), kept...)...)
}

// ObjectIDs returns the "Kind/name" of objects.
func ObjectIDs(objects []OrderedObject) []string {
	list := make([]string, len(objects))
	for i, o := range objects {
		list[i] = o.String()
	}
	return list
}

// CheckOrder checks that the writes since h.Started follow the order of the last revision.
// configure can change the expected order.
func (h *Helm) CheckOrder(tb testing.TB, name string, recorded Trace, configure ...func(*Order)) {
	tb.Helper()
	o := &Order{}
	for _, set := range configure {
		set(o)
	}
	o.AddManifest(tb, h.LastRevision(tb, name).Manifest)
	if pairs := o.CheckChanges(tb, recorded, h.Started); pairs == 0 {
		tb.Error("no two objects had an order: the proof is empty")
	}
}

// Record returns the order record in a stored revision, or nil if there is none.
func Record(rel *release.Release) []byte {
	for _, f := range rel.Chart.Files {
		if f.Name == ".ordered-helm/record.json" {
			return f.Data
		}
	}
	return nil
}

// CheckUninstallOrder checks that all objects of a manifest, except those in except, were
// deleted in reverse order.
func (h *Helm) CheckUninstallOrder(tb testing.TB, manifest string, except ...string) {
	tb.Helper()
	o := &Order{}
	o.AddManifest(tb, manifest)
	isGone := func(o OrderedObject) bool { return !slices.Contains(except, o.String()) }
	if pairs := o.CheckDeletions(tb, h.ReadTrace(tb).Since(h.Started), isGone); pairs == 0 {
		tb.Error("no two objects had an order: the proof is empty")
	}
}

// Uninstall uninstalls the release, which must succeed, and returns the manifest of its last
// revision and the output.
func (h *Helm) Uninstall(tb testing.TB, args ...string) (manifest string, r Result) {
	tb.Helper()
	manifest = h.LastRevision(tb, "rel").Manifest
	h.Started = Now()
	return manifest, h.MustRun(append([]string{"uninstall", "rel"}, args...)...)
}

// Repair runs one command after a failure, and checks that the release is deployed or
// uninstalled afterwards.
func (h *Helm) Repair(tb testing.TB, args ...string) {
	tb.Helper()
	h.Started = Now()
	h.MustRun(args...)
	if args[0] == "uninstall" {
		h.ExpectObjects(tb, "rel")
		h.ExpectEmptyNamespace(tb)
		return
	}
	h.ExpectDeployed(tb)
}

// ExpectDeployed checks that the last revision is deployed and not locked, and that the
// objects of the release are those in its manifest.
func (h *Helm) ExpectDeployed(tb testing.TB) {
	tb.Helper()
	h.ExpectManifestObjects(tb, "rel")
	deployed := 0
	for _, rel := range h.History(tb, "rel") {
		switch rel.Info.Status.String() {
		case "deployed":
			deployed++
		case "failed", "superseded":
		default:
			tb.Errorf("revision %d is %s", rel.Version, rel.Info.Status)
		}
		if strings.Contains(string(Record(rel)), `"lease"`) {
			tb.Errorf("revision %d is held", rel.Version)
		}
	}
	if last := h.LastRevision(tb, "rel"); deployed != 1 || last.Info.Status != "deployed" {
		tb.Errorf("%d revisions are deployed, and the last one is %s: %s", deployed, last.Info.Status, h.Statuses(tb, "rel"))
	}
}

// CheckOddObjectsDeleted checks that the objects odd and odder of charts.OddObjects, whose
// manifest is given, were deleted in reverse order, after all other objects were ready.
func (h *Helm) CheckOddObjectsDeleted(tb testing.TB, manifest string, recorded Trace) {
	tb.Helper()
	odd := &Order{}
	odd.AddManifest(tb, manifest)
	late := recorded.Since(h.Started)
	if pairs := odd.CheckDeletions(tb, late, func(o OrderedObject) bool { return strings.HasPrefix(o.Name, "odd") }); pairs != 1 {
		tb.Errorf("%d pairs of deleted objects had an order, want 1", pairs)
	}
	now := &Order{}
	now.AddManifest(tb, h.LastRevision(tb, "rel").Manifest)
	for _, id := range []string{"ConfigMap/odd", "ConfigMap/odder"} {
		deleted, _ := late.Deleted(id)
		for _, o := range now.Objects {
			if why := recorded.NotReadyReason(o, deleted); why != "" {
				tb.Errorf("%s was deleted at %s, though %s %s", id, deleted, o, why)
			}
		}
	}
}
