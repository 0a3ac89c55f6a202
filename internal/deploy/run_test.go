// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"errors"
	"io"
	"strings"
	"testing"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/kube"
	kubefake "helm.sh/helm/v3/pkg/kube/fake"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/history/historytest"
	"github.com/ordered-helm/helm/internal/inventory"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/operation"
)

// buildingClient is a Kubernetes client without a cluster. It can build the objects of a
// manifest that contains one namespaced object.
type buildingClient struct{ kubefake.PrintingKubeClient }

func (*buildingClient) Build(r io.Reader, _ bool) (kube.ResourceList, error) {
	manifest, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(manifest, &u.Object); err != nil {
		return nil, err
	}
	gvk := schema.FromAPIVersionAndKind(u.GetAPIVersion(), u.GetKind())
	return kube.ResourceList{&object.Info{
		Name: u.GetName(), Namespace: "default", Object: u, Mapping: &meta.RESTMapping{GroupVersionKind: gvk, Scope: meta.RESTScopeNamespace},
	}}, nil
}

// newTestRun returns a Run without a cluster, for a release that has an earlier revision.
func newTestRun(t *testing.T, releases *storage.Storage, rel, earlier *release.Release, notify func(event.Event)) *Run {
	t.Helper()
	cfg := &helmaction.Configuration{Releases: releases, KubeClient: &buildingClient{}, Log: t.Logf}
	op, _, end := operation.Start(t.Context(), cfg, operation.StartOptions{Notify: notify})
	t.Cleanup(end)
	inv := inventory.New([]*release.Release{earlier}, earlier)
	if err := inv.ReadAsHelm(op.Cluster); err != nil {
		t.Fatal(err)
	}
	r, err := New(RunConfig{Operation: op, Writer: op.Store.NewWriter(rel), Inventory: inv})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// secretManifest declares a Secret.
func secretManifest(password string) string {
	return "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: " + password + "}\n"
}

// TestHideSecrets checks that the Secrets of the release, of its earlier revisions, and of
// their hooks are redacted.
func TestHideSecrets(t *testing.T) {
	rel, earlier := historytest.Revision(2, release.StatusPendingUpgrade), historytest.Revision(1, release.StatusDeployed)
	rel.Manifest, rel.Hooks = secretManifest("second-value"), []*release.Hook{{Manifest: secretManifest("second-hook-value")}}
	earlier.Manifest, earlier.Hooks = secretManifest("first-value"), []*release.Hook{{Manifest: secretManifest("first-hook-value")}}
	r := newTestRun(t, historytest.MemoryStorage(t), rel, earlier, nil)
	r.HideSecrets()
	for _, value := range []string{"first-value", "first-hook-value", "second-value", "second-hook-value"} {
		if got := r.op.Events.RedactError(errors.New("login with " + value)).Error(); got != "login with ******" {
			t.Errorf("got %q", got)
		}
	}
}

// TestRecordFailure checks that a failure that cannot be stored causes one warning.
func TestRecordFailure(t *testing.T) {
	for _, refusal := range []error{nil, errors.New("you may not")} {
		rel, earlier := historytest.Revision(2, release.StatusPendingUpgrade), historytest.Revision(1, release.StatusDeployed)
		rel.Manifest, earlier.Manifest = secretManifest("second-value"), secretManifest("first-value")
		releases := historytest.MemoryStorage(t, earlier, history.Copy(rel))
		if refusal != nil {
			releases.Driver = &historytest.UpdateErrorDriver{Driver: releases.Driver, Err: refusal}
		}
		var emitted []string
		r := newTestRun(t, releases, rel, earlier, func(e event.Event) { emitted = append(emitted, string(e.Type)+": "+e.Message) })
		if lost := r.RecordFailure("it failed"); lost != nil {
			t.Errorf("got %v", lost)
		}
		switch {
		case refusal == nil && (len(emitted) > 0 || historytest.Get(t, releases, 2).Info.Status != release.StatusFailed):
			t.Errorf("emitted %q", emitted)
		case refusal != nil && (len(emitted) != 1 || !strings.HasPrefix(emitted[0], "warning: failed to record that revision 2 of release rel is now failed") || !strings.Contains(emitted[0], "you may not")):
			t.Errorf("emitted %q", emitted)
		}
	}
}
