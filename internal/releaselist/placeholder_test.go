// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releaselist

import (
	"math/rand/v2"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/ordered-helm/helm/internal/chunkedsecret"
	"github.com/ordered-helm/helm/internal/releasestorage"
)

// TestListsLargeReleases checks that releases of several Secrets are listed with their status, and
// without requests for their parts. A chart that has the annotation of a placeholder is listed as
// any other.
func TestListsLargeReleases(t *testing.T) {
	client := fake.NewClientset()
	connect := func() (kubernetes.Interface, error) { return client, nil }
	releases := storage.Init(chunkedsecret.New(releasestorage.Options{Namespace: "a", Connect: connect, Log: t.Logf}))
	large := testRelease("large", "a", 1, release.StatusDeployed)
	data, source := make([]byte, 1<<20), rand.NewChaCha8([32]byte{})
	_, _ = source.Read(data) // never fails
	large.Chart.Files = []*chart.File{{Name: "large", Data: data}}
	annotated := testRelease("small", "a", 1, release.StatusFailed)
	annotated.Chart.Metadata.Annotations = map[string]string{"helm.sh/storage-driver": "chunked-secret"}
	for _, rel := range []*release.Release{large, annotated} {
		if err := releases.Create(rel); err != nil {
			t.Fatal(err)
		}
	}
	client.ClearActions()
	listed, err := NewStorage(t.Context(), releases, Options{Namespace: "a", Connect: connect, Log: t.Logf}).ListReleases()
	if err != nil || len(listed) != 2 || len(client.Actions()) != 1 {
		t.Fatalf("got %v, error %v, requests %v", listed, err, client.Actions())
	}
	if rel := listed[0]; rel.Info.Status != release.StatusDeployed || rel.Chart.Metadata.Version != "1.2.0" || rel.Info.Description != large.Info.Description {
		t.Errorf("got %+v", rel.Info)
	}
	if rel := listed[1]; rel.Name != "small" || rel.Info.Status != release.StatusFailed || rel.Manifest != "" {
		t.Errorf("got %+v", rel)
	}
}
