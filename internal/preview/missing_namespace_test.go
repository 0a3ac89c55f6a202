// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/objectwriter"
)

// TestMissingNamespace checks that there is one error, which names the objects, if the namespace
// of the release does not exist and would not be created.
func TestMissingNamespace(t *testing.T) {
	notFound := func(resource, name string) error {
		return fmt.Errorf("failed to create resource: %w", apierrors.NewNotFound(schema.GroupResource{Resource: resource}, name))
	}
	const want = `the namespace "prod" of the release does not exist, so ConfigMap/a, ConfigMap/b cannot be created: ` +
		`create the namespace, or use --create-namespace: failed to create resource: namespaces "prod" not found`
	for _, tt := range []struct {
		name    string
		err     error
		created bool
		want    string
	}{
		{"the namespace of the release", notFound("namespaces", "prod"), false, want},
		{"it would be created", notFound("namespaces", "prod"), true, ""},
		{"another namespace", notFound("namespaces", "other"), false, ""},
		{"another kind", notFound("configmaps", "prod"), false, ""},
		{"no error", nil, false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := NewBuilder(nil, "install")
			if tt.created {
				b.namespaces["prod"] = true
			}
			var dryRuns []objectwriter.DryRunResult
			for _, name := range []string{"a", "b"} {
				info := &object.Info{Name: name, Namespace: "prod", Object: &unstructured.Unstructured{Object: map[string]any{"kind": "ConfigMap"}}}
				dryRuns = append(dryRuns, objectwriter.DryRunResult{Info: info, Err: tt.err})
			}
			got := ""
			if err := b.missingNamespace("prod", dryRuns); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
