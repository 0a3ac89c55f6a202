// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/releaseapi"
	"github.com/ordered-helm/helm/test/harness"
)

func isDefinitionsError(err error) bool {
	_, is := errors.AsType[*releaseapi.DefinitionsError](err)
	return is
}

func expectProblem(t *testing.T, err error, want releaseapi.Problem, text ...string) {
	t.Helper()
	problem, is := errors.AsType[*releaseapi.DefinitionsError](err)
	if !is || problem.Problem != want {
		t.Fatalf("got %v, want problem %d", err, want)
	}
	harness.ExpectContains(t, err.Error(), text...)
}

func TestMissingDefinitions(t *testing.T) {
	h := withoutDefinitions(t)
	c, ctx := client(h), t.Context()
	for name, do := range map[string]func() error{
		"get":    func() error { _, err := c.Releases.Get(ctx, "shop"); return err },
		"list":   func() error { _, err := c.Releases.List(ctx, metav1.ListOptions{}); return err },
		"create": func() error { _, err := c.Releases.Create(ctx, sampleRelease(h.Namespace, "shop")); return err },
		"update": func() error {
			rel := sampleRelease(h.Namespace, "shop")
			rel.ResourceVersion = "1"
			_, err := c.Releases.Update(ctx, rel)
			return err
		},
		"delete": func() error { return c.Releases.Delete(ctx, "shop", metav1.DeleteOptions{}) },
	} {
		t.Run(name, func(t *testing.T) {
			expectProblem(t, do(), releaseapi.ProblemMissing, `the cluster has no definition of releases.helm.sh: run "helm state init"`)
		})
	}
}

// changeSchema changes the schemas of the fields in status of Releases, and waits until the API
// server uses them.
func changeSchema(t *testing.T, h *harness.Helm, change func(fields map[string]any), isInEffect func() bool) {
	t.Helper()
	live := definition(t, h, releasesDefinition)
	versions, _, err := unstructured.NestedSlice(live.Object, "spec", "versions")
	harness.NoError(t, err)
	version, _ := versions[0].(map[string]any)
	path := []string{"schema", "openAPIV3Schema", "properties", "status", "properties"}
	fields, _, err := unstructured.NestedMap(version, path...)
	harness.NoError(t, err)
	change(fields)
	harness.NoError(t, unstructured.SetNestedMap(version, fields, path...))
	harness.NoError(t, unstructured.SetNestedSlice(live.Object, versions, "spec", "versions"))
	_, err = definitions(h).Update(t.Context(), live, metav1.UpdateOptions{})
	harness.NoError(t, err)
	harness.Eventually(t, "the schema is in effect", isInEffect)
}

// TestOlderDefinitions checks that no field is lost if the definitions are older than helm.
func TestOlderDefinitions(t *testing.T) {
	h := withDefinitions(t)
	c := client(h)
	dryRun := func() error {
		u, err := releaseapi.ToUnstructured(sampleRelease(h.Namespace, "dry"))
		harness.NoError(t, err)
		_, err = h.Resource(releaseapi.APIVersion, releaseapi.ReleaseKind).Create(t.Context(), u,
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})
		return err
	}
	changeSchema(t, h, func(fields map[string]any) { delete(fields, "counts") }, func() bool { return dryRun() != nil })
	_, err := c.Releases.Create(t.Context(), sampleRelease(h.Namespace, "shop"))
	expectProblem(t, err, releaseapi.ProblemOlder, "Release shop", "releases.helm.sh", `"status.counts"`, `run "helm state init" to update it`)

	h.MustRun("state", "init")
	harness.Eventually(t, "the schema is in effect", func() bool { return dryRun() == nil })
	if _, err := c.Releases.Create(t.Context(), sampleRelease(h.Namespace, "shop")); err != nil {
		t.Error(err)
	}
}

// TestNewerObjects checks that fields of a newer version of helm are not lost.
func TestNewerObjects(t *testing.T) {
	h := withDefinitions(t)
	releases := h.Resource(releaseapi.APIVersion, releaseapi.ReleaseKind)
	u, err := releaseapi.ToUnstructured(sampleRelease(h.Namespace, "shop"))
	harness.NoError(t, err)
	harness.NoError(t, unstructured.SetNestedField(u.Object, "x", "status", "later"))
	changeSchema(t, h, func(fields map[string]any) { fields["later"] = map[string]any{"type": "string"} }, func() bool {
		_, err := releases.Create(t.Context(), u, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})
		return err == nil
	})
	_, err = releases.Create(t.Context(), u, metav1.CreateOptions{})
	harness.NoError(t, err)

	c := client(h)
	rel, err := c.Releases.Get(t.Context(), "shop")
	if err != nil || strings.Join(rel.UnknownFields, " ") != "status.later" || rel.Status.Revision != 2 {
		t.Fatalf("got %+v, %v", rel, err)
	}
	_, err = c.Releases.Update(t.Context(), rel)
	expectProblem(t, err, releaseapi.ProblemNewer, "Release "+h.Namespace+"/shop", "status.later", "upgrade helm")
}

// TestDefinitionsBeingDeleted checks the error while the definitions are being deleted, and that
// "helm state init" waits until they are gone, and then installs them.
func TestDefinitionsBeingDeleted(t *testing.T) {
	h := withDefinitions(t)
	releases := h.Resource(releaseapi.APIVersion, releaseapi.ReleaseKind)
	create := func(name string, options metav1.CreateOptions, finalizers ...string) error {
		u, err := releaseapi.ToUnstructured(sampleRelease(h.Namespace, name))
		harness.NoError(t, err)
		u.SetFinalizers(finalizers)
		_, err = releases.Create(t.Context(), u, options)
		return err
	}
	// A definition is being deleted as long as one of its objects cannot be deleted.
	harness.NoError(t, create("held", metav1.CreateOptions{}, "test.example/hold"))
	removeFinalizer := func() error {
		return harness.MergePatch(context.WithoutCancel(t.Context()), releases, "held", `{"metadata":{"finalizers":null}}`)
	}
	t.Cleanup(func() { _ = removeFinalizer() }) // if the test ends early, for the tests that follow
	harness.NoError(t, definitions(h).Delete(t.Context(), releasesDefinition, metav1.DeleteOptions{}))
	harness.Eventually(t, "objects cannot be created", func() bool {
		return create("shop", metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}) != nil
	})
	c := client(h)
	_, err := c.Releases.Create(t.Context(), sampleRelease(h.Namespace, "shop"))
	expectProblem(t, err, releaseapi.ProblemDeleting, `when it is gone, run "helm state init"`)
	h.ExpectFailure(t, []string{"state", "init", "--timeout", "1s"}, "releases.helm.sh", "it is being deleted", "timed out after 1s")

	p := h.Start(t, "state", "init")
	harness.NoError(t, removeFinalizer())
	p.ExpectExit(t, 0)
	if _, err := c.Releases.Create(t.Context(), sampleRelease(h.Namespace, "shop")); err != nil {
		t.Error(err)
	}
}
