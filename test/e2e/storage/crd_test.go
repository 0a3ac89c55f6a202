// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

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

var _ = charts.Chart{}

// list returns the objects of a resource in the namespace of a test.
func list(h *harness.Helm, resource schema.GroupVersionResource) []unstructured.Unstructured {
	h.TB.Helper()
	found, err := h.Client.Resource(resource).Namespace(h.Namespace).List(h.TB.Context(), metav1.ListOptions{})
	harness.NoError(h.TB, err)
	return found.Items
}

// describe returns the names of objects with the kinds of their owners, sorted.
func describe(objects []unstructured.Unstructured) string {
	var lines []string
	for _, o := range objects {
		line := o.GetName()
		for _, owner := range o.GetOwnerReferences() {
			line += fmt.Sprintf(" < %s", owner.Kind)
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestReleaseAsObjects follows a release that is stored as objects through all operations.
func TestReleaseAsObjects(t *testing.T) {
	t.Parallel()
	h := withObjects(t)
	dir := harness.ExampleChart(t, "ordered-shop")
	_ = dir
	_ = releaseapi.Group
}
