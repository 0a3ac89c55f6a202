// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
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
	const job = "{apiVersion: batch/v1, kind: Job, metadata: {name: migrate-12}, spec: {args: [--to, v12, '2', x], n: 12}}"
	for _, tt := range []struct {
		name, before string
		want         bool
	}{
		{"the number everywhere", "{apiVersion: batch/v1, kind: Job, metadata: {name: migrate-9}, spec: {args: [--to, v9, '2', x], n: 9}}", true},
		{"the number only in the name", "{apiVersion: batch/v1, kind: Job, metadata: {name: migrate-9}, spec: {args: [--to, v12, '2', x], n: 12}}", true},
		{"labels of the release", "{apiVersion: batch/v1, kind: Job, metadata: {name: migrate-9, labels: {app.kubernetes.io/managed-by: Helm}, annotations: {meta.helm.sh/release-name: a}}, spec: {args: [--to, v9, '2', x], n: 9}}", true},
		{"another label", "{apiVersion: batch/v1, kind: Job, metadata: {name: migrate-9, labels: {a: b}}, spec: {args: [--to, v9, '2', x], n: 9}}", false},
		{"another change", "{apiVersion: batch/v1, kind: Job, metadata: {name: migrate-9}, spec: {args: [--to, v9, '2', y], n: 9}}", false},
		{"another number", "{apiVersion: batch/v1, kind: Job, metadata: {name: migrate-9}, spec: {args: [--to, v9, '9', x], n: 9}}", false},
		{"a number of a third revision", "{apiVersion: batch/v1, kind: Job, metadata: {name: migrate-9}, spec: {args: [--to, v8, '2', x], n: 9}}", false},
		{"a removed field", "{apiVersion: batch/v1, kind: Job, metadata: {name: migrate-9}, spec: {args: [--to, v9, '2', x]}}", false},
		{"another name", "{apiVersion: batch/v1, kind: Job, metadata: {name: other-9}, spec: {args: [--to, v9, '2', x], n: 9}}", false},
		{"the same name", job, false},
		{"another kind", "{apiVersion: v1, kind: Pod, metadata: {name: migrate-9}, spec: {args: [--to, v9, '2', x], n: 9}}", false},
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
