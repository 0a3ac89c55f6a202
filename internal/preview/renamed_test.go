// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/object"
)

func infoOf(t *testing.T, text string) *object.Info {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	gvk := schema.FromAPIVersionAndKind(o.GetAPIVersion(), o.GetKind())
	return &object.Info{Name: o.GetName(), Namespace: "default", Object: o, Mapping: &meta.RESTMapping{GroupVersionKind: gvk}}
}

// TestRenames checks which objects count as the same except for the number of the revision.
func TestRenames(t *testing.T) {
	t.Parallel()
	const job = "{apiVersion: batch/v1, kind: Job, metadata: {name: migrate-12}, spec: {args: [--to, v12, '2', x, 'a:1.2'], n: 7}}"
	for _, tt := range []struct {
		name, before string
		want         bool
	}{
		{"the number everywhere", "{apiVersion: batch/v1, kind: Job, metadata: {name: migrate-9}, spec: {args: [--to, v9, '2', x, 'a:1.2'], n: 7}}", true},
		{"the number only in the name", "{apiVersion: batch/v1, kind: Job, metadata: {name: migrate-9}, spec: {args: [--to, v12, '2', x, 'a:1.2'], n: 7}}", true},
		{"labels of the release", "{apiVersion: batch/v1, kind: Job, metadata: {name: migrate-9, labels: {app.kubernetes.io/managed-by: Helm}, annotations: {meta.helm.sh/release-name: a}}, spec: {args: [--to, v9, '2', x, 'a:1.2'], n: 7}}", true},
		{"another label", "{apiVersion: batch/v1, kind: Job, metadata: {name: migrate-9, labels: {a: b}}, spec: {args: [--to, v9, '2', x, 'a:1.2'], n: 7}}", false},
		{"another change", "{apiVersion: batch/v1, kind: Job, metadata: {name: migrate-9}, spec: {args: [--to, v9, '2', y, 'a:1.2'], n: 7}}", false},
		{"another number", "{apiVersion: batch/v1, kind: Job, metadata: {name: migrate-9}, spec: {args: [--to, v9, '9', x, 'a:1.2'], n: 7}}", false},
		{"a number of a third revision", "{apiVersion: batch/v1, kind: Job, metadata: {name: migrate-9}, spec: {args: [--to, v8, '2', x, 'a:1.2'], n: 7}}", false},
		{"a number that is no text", "{apiVersion: batch/v1, kind: Job, metadata: {name: migrate-9}, spec: {args: [--to, v9, '2', x, 'a:1.2'], n: 9}}", false},
		{"a removed field", "{apiVersion: batch/v1, kind: Job, metadata: {name: migrate-9}, spec: {args: [--to, v9, '2', x, 'a:1.2']}}", false},
		{"another name", "{apiVersion: batch/v1, kind: Job, metadata: {name: other-9}, spec: {args: [--to, v9, '2', x, 'a:1.2'], n: 7}}", false},
		{"the same name", job, false},
		{"another kind", "{apiVersion: v1, kind: Pod, metadata: {name: migrate-9}, spec: {args: [--to, v9, '2', x, 'a:1.2'], n: 7}}", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRenames(12, []*object.Info{infoOf(t, "{apiVersion: batch/v1, kind: Job, metadata: {name: migrate-x}}"), infoOf(t, job)})
			if got := r.of(infoOf(t, tt.before)); (got != nil) != tt.want {
				t.Errorf("found %v, want %t", got, tt.want)
			}
		})
	}
}

// TestRenamesWithVersions checks that a version that happens to have the number of the revision counts as a change.
func TestRenamesWithVersions(t *testing.T) {
	t.Parallel()
	const job = "{apiVersion: batch/v1, kind: Job, metadata: {name: migrate-%s}, spec: {image: 'shop:%s'}}"
	for _, tt := range []struct {
		name, before, after string
		want                bool
	}{
		{"the same", "1.0", "1.0", true},
		{"a part of a version", "1.2", "1.3", false},
		{"the first part", "2.1", "3.1", false},
		{"a tag", "2", "3", false},
		{"a tag with the revision", "rev-2", "rev-3", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRenames(3, []*object.Info{infoOf(t, fmt.Sprintf(job, "3", tt.after))})
			if got := r.of(infoOf(t, fmt.Sprintf(job, "2", tt.before))); (got != nil) != tt.want {
				t.Errorf("found %v, want %t", got, tt.want)
			}
		})
	}
}
