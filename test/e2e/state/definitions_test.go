// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/releaseapi"
	"github.com/ordered-helm/helm/test/harness"
)

// TestDefinitions checks that the API server accepts the definitions as structural, and serves
// them.
func TestDefinitions(t *testing.T) {
	h := withDefinitions(t)
	for _, name := range []string{releasesDefinition, versionsDefinition} {
		live := definition(t, h, name)
		entries, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
		conditions := map[string]string{}
		for _, entry := range entries {
			condition, _ := entry.(map[string]any)
			conditions[fmt.Sprint(condition["type"])] = fmt.Sprint(condition["status"])
		}
		if want := map[string]string{"Established": "True", "NamesAccepted": "True"}; !maps.Equal(conditions, want) {
			t.Errorf("%s has the conditions %v, want %v", name, conditions, want)
		}
	}
}

// TestObjects writes and reads objects with a value in every field.
func TestObjects(t *testing.T) {
	h := withDefinitions(t)
	c := client(h)
	created, err := c.Releases.Create(t.Context(), sampleRelease(h.Namespace, "shop"))
	harness.NoError(t, err)
	version := sampleVersion(h.Namespace, "shop")
	version.OwnerReferences = []metav1.OwnerReference{releaseapi.OwnerReference(created)}
	_, err = c.Versions.Create(t.Context(), version)
	harness.NoError(t, err)

	rel, err := c.Releases.Get(t.Context(), "shop")
	harness.NoError(t, err)
	expectSame(t, rel.Status, sampleRelease(h.Namespace, "shop").Status)
	versions, err := c.Versions.List(t.Context(), metav1.ListOptions{LabelSelector: releaseapi.VersionsOf("shop")})
	harness.NoError(t, err)
	if len(versions.Items) != 1 || versions.ResourceVersion == "" || versions.Items[0].Name != ulid {
		t.Fatalf("got %+v", versions)
	}
	expectSame(t, versions.Items[0].Spec, version.Spec)
	expectSame(t, versions.Items[0].Status, version.Status)
	if len(rel.UnknownFields)+len(versions.Items[0].UnknownFields) > 0 {
		t.Errorf("unknown fields: %q, %q", rel.UnknownFields, versions.Items[0].UnknownFields)
	}
	other, err := c.Versions.List(t.Context(), metav1.ListOptions{LabelSelector: releaseapi.VersionsOf("web")})
	if err != nil || len(other.Items) != 0 {
		t.Errorf("got %+v, %v", other, err)
	}

	// Every update is a compare-and-swap.
	rel.Status.Revision = 3
	updated, err := c.Releases.Update(t.Context(), rel)
	if err != nil || updated.Status.Revision != 3 {
		t.Fatalf("got %+v, %v", updated, err)
	}
	rel.Status.Revision = 4
	if _, err := c.Releases.Update(t.Context(), rel); !apierrors.IsConflict(err) {
		t.Errorf("an outdated object is written: %v", err)
	}
	if _, err := c.Releases.Update(t.Context(), sampleRelease(h.Namespace, "shop")); err == nil {
		t.Error("an object without a resourceVersion is written")
	}

	// A missing object is told from a missing definition.
	_, err = c.Releases.Get(t.Context(), "web")
	if apierrors.IsNotFound(err) == isDefinitionsError(err) {
		t.Errorf("got %v", err)
	}
	background := metav1.DeletePropagationBackground
	harness.NoError(t, c.Releases.Delete(t.Context(), "shop", metav1.DeleteOptions{PropagationPolicy: &background}))
	harness.Eventually(t, "the ReleaseVersion is deleted with the Release that owns it", func() bool {
		_, err := c.Versions.Get(t.Context(), ulid)
		return apierrors.IsNotFound(err)
	})
}

// expectSame compares objects by their JSON.
func expectSame(t *testing.T, got, want any) {
	t.Helper()
	gotText, err := json.Marshal(got)
	harness.NoError(t, err)
	wantText, err := json.Marshal(want)
	harness.NoError(t, err)
	if string(gotText) != string(wantText) {
		t.Errorf("got\n%s\nwant\n%s", gotText, wantText)
	}
}

// TestInvalidObjects checks that the API server rejects values that Helm never writes.
func TestInvalidObjects(t *testing.T) {
	h := withDefinitions(t)
	set := func(value any, path ...string) func(*unstructured.Unstructured) {
		return func(u *unstructured.Unstructured) {
			harness.NoError(t, unstructured.SetNestedField(u.Object, value, path...))
		}
	}
	tests := []struct {
		name   string
		object releaseapi.Object
		change func(*unstructured.Unstructured)
		want   string
	}{
		{"long name", sampleRelease(h.Namespace, "shop"), set(strings.Repeat("a", 54), "metadata", "name"), "metadata.name"},
		{"unknown phase", sampleRelease(h.Namespace, "shop"), set("running", "status", "phase"), "status.phase: Unsupported value"},
		{"negative revision", sampleRelease(h.Namespace, "shop"), set(int64(-1), "status", "revision"), "status.revision"},
		{"revision that is text", sampleRelease(h.Namespace, "shop"), set("1", "status", "revision"), "status.revision"},
		{"version that is no ULID", sampleRelease(h.Namespace, "shop"), set("01KAWD5T9FH3QZV8E2M7Y4X6RC", "status", "currentVersion"), "status.currentVersion"},
		{"time that is no time", sampleRelease(h.Namespace, "shop"), set("yesterday", "status", "lastDeployed"), "status.lastDeployed"},
		{"long description", sampleRelease(h.Namespace, "shop"), set(strings.Repeat("ä", releaseapi.MaxDescriptionLength+1), "status", "description"), "status.description"},
		{"incomplete counts", sampleRelease(h.Namespace, "shop"), set(map[string]any{"hooks": int64(1)}, "status", "counts"), "status.counts.versions"},
		{"incomplete condition", sampleRelease(h.Namespace, "shop"), set([]any{map[string]any{"type": "Ready", "status": "True"}}, "status", "conditions"), "status.conditions[0].reason"},
		{"name that is no ULID", sampleVersion(h.Namespace, "shop"), set("shop.v2", "metadata", "name"), "metadata.name"},
		{"no spec", sampleVersion(h.Namespace, "shop"), func(u *unstructured.Unstructured) { delete(u.Object, "spec") }, "spec: Required value"},
		{"revision 0", sampleVersion(h.Namespace, "shop"), set(int64(0), "spec", "revision"), "spec.revision"},
		{"long lock", sampleVersion(h.Namespace, "shop"), set(int64(3601), "status", "operation", "seconds"), "status.operation.seconds"},
		{"digest of another form", sampleVersion(h.Namespace, "shop"), set([]any{map[string]any{"section": "values", "digest": "md5:1", "size": int64(1), "secrets": []any{"a"}}}, "status", "payload"), "status.payload[0].digest"},
		{"unknown hook phase", sampleVersion(h.Namespace, "shop"), set([]any{map[string]any{"index": int64(0), "phase": "Done"}}, "status", "hooks"), "status.hooks[0].phase"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			u, err := releaseapi.ToUnstructured(tt.object)
			harness.NoError(t, err)
			tt.change(u)
			_, err = h.Client.Resource(harness.GuessResource(releaseapi.APIVersion, u.GetKind())).Namespace(h.Namespace).Create(t.Context(), u, metav1.CreateOptions{})
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestSpecIsImmutable(t *testing.T) {
	h := withDefinitions(t)
	c := client(h)
	version, err := c.Versions.Create(t.Context(), sampleVersion(h.Namespace, "shop"))
	harness.NoError(t, err)
	version.Spec.Revision = 7
	if _, err := c.Versions.Update(t.Context(), version); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "the spec of a ReleaseVersion is immutable") {
		t.Errorf("got %v", err)
	}
	version.Spec.Revision, version.Status.Description = 2, "Superseded"
	if _, err := c.Versions.Update(t.Context(), version); err != nil {
		t.Error(err)
	}
}

// TestUnknownFields checks that the API server drops unknown fields, or rejects them if the client
// asks for strict validation.
func TestUnknownFields(t *testing.T) {
	h := withDefinitions(t)
	u, err := releaseapi.ToUnstructured(sampleRelease(h.Namespace, "shop"))
	harness.NoError(t, err)
	harness.NoError(t, unstructured.SetNestedField(u.Object, "secret", "status", "values"))
	releases := h.Resource(releaseapi.APIVersion, releaseapi.ReleaseKind)
	if _, err := releases.Create(t.Context(), u, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}); !apierrors.IsBadRequest(err) {
		t.Errorf("got %v", err)
	}
	created, err := releases.Create(t.Context(), u, metav1.CreateOptions{})
	harness.NoError(t, err)
	if _, found, _ := unstructured.NestedString(created.Object, "status", "values"); found {
		t.Error("an unknown field is stored")
	}
}

// table is a response of the API server for "kubectl get".
type table struct {
	ColumnDefinitions []struct {
		Name     string
		Priority int
	}
	Rows []struct{ Cells []any }
}

// printed returns what "kubectl get" prints: names of columns, cells of the first object, and names
// of the columns that only "-o wide" adds.
func printed(t *testing.T, h *harness.Helm, resource string) (columns, cells, wide []string) {
	t.Helper()
	data, err := h.Cluster.Client().CoreV1().RESTClient().Get().AbsPath("/apis", releaseapi.Group, releaseapi.Version, "namespaces", h.Namespace, resource).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	harness.NoError(t, err)
	var got table
	harness.NoError(t, json.Unmarshal(data, &got))
	for i, column := range got.ColumnDefinitions {
		if column.Priority > 0 {
			wide = append(wide, column.Name)
			continue
		}
		columns = append(columns, column.Name)
		cells = append(cells, fmt.Sprint(got.Rows[0].Cells[i]))
	}
	return columns, cells, wide
}

// TestPrinterColumns checks that kubectl prints Releases like "helm list", and ReleaseVersions like
// "helm history".
func TestPrinterColumns(t *testing.T) {
	h := withDefinitions(t)
	c := client(h)
	_, err := c.Releases.Create(t.Context(), sampleRelease(h.Namespace, "shop"))
	harness.NoError(t, err)
	_, err = c.Versions.Create(t.Context(), sampleVersion(h.Namespace, "shop"))
	harness.NoError(t, err)
	for _, tt := range []struct {
		resource             string
		columns, cells, wide []string
	}{
		{
			releaseapi.ReleaseResource, []string{"Name", "Revision", "Updated", "Status", "Chart", "App Version"},
			[]string{"shop", "2", "", "deployed", "shop-1.0.0", "3.2"},
			[]string{"Deployed", "Ready", "Resources", "Versions", "Current Version", "Description"},
		},
		{
			releaseapi.ReleaseVersionResource, []string{"Name", "Release", "Revision", "Updated", "Status", "Chart", "App Version", "Description"},
			[]string{ulid, "shop", "2", "", "deployed", "shop-1.0.0", "3.2", "Upgrade complete"},
			[]string{"Operation", "Host", "Deleted"},
		},
	} {
		columns, cells, wide := printed(t, h, tt.resource)
		updated := slices.Index(columns, "Updated")
		if updated < 0 || cells[updated] == "" || cells[updated] == "<unknown>" {
			t.Fatalf("%s: got columns %q with %q", tt.resource, columns, cells)
		}
		cells[updated] = "" // the age depends on the current time
		if !slices.Equal(columns, tt.columns) || !slices.Equal(cells, tt.cells) || !slices.Equal(wide, tt.wide) {
			t.Errorf("%s: got\n%q\n%q\n%q", tt.resource, columns, cells, wide)
		}
	}
}
