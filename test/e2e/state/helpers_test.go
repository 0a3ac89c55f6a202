// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/ordered-helm/helm/internal/releaseapi"
	"github.com/ordered-helm/helm/test/harness"
)

const (
	releasesDefinition = "releases.helm.sh"
	versionsDefinition = "releaseversions.helm.sh"
	// ulid is the name of a ReleaseVersion.
	ulid = "01kawd5t9fh3qzv8e2m7y4x6rc"
)

// withDefinitions returns a Helm in a cluster with the definitions. The tests of this package do
// not run in parallel, because the cluster has the definitions only once.
func withDefinitions(t *testing.T) *harness.Helm {
	t.Helper()
	h := withoutDefinitions(t)
	h.MustRun("state", "init")
	return h
}

// withoutDefinitions returns a Helm in a cluster without the definitions.
func withoutDefinitions(t *testing.T) *harness.Helm {
	t.Helper()
	h := harness.New(t)
	deleteDefinitions(t, h)
	return h
}

func definitions(h *harness.Helm) dynamic.ResourceInterface {
	return h.Client.Resource(harness.GuessResource("apiextensions.k8s.io/v1", "CustomResourceDefinition"))
}

// deleteDefinitions deletes the definitions, and waits until they are gone.
func deleteDefinitions(t *testing.T, h *harness.Helm) {
	t.Helper()
	for _, name := range []string{releasesDefinition, versionsDefinition} {
		if err := definitions(h).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		harness.Eventually(t, name+" is gone", func() bool {
			_, err := definitions(h).Get(t.Context(), name, metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		})
	}
}

func definition(t *testing.T, h *harness.Helm, name string) *unstructured.Unstructured {
	t.Helper()
	live, err := definitions(h).Get(t.Context(), name, metav1.GetOptions{})
	harness.NoError(t, err)
	return live
}

// annotate sets the version in the annotation of a definition.
func annotate(t *testing.T, h *harness.Helm, name, version string) {
	t.Helper()
	patch := `{"metadata":{"annotations":{"` + releaseapi.DefinitionsVersionAnnotation + `":` + version + `}}}`
	harness.NoError(t, harness.MergePatch(t.Context(), definitions(h), name, patch))
}

func client(h *harness.Helm) *releaseapi.Client { return releaseapi.NewClient(h.Client, h.Namespace) }
