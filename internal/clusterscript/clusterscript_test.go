// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package clusterscript_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/clusterscript"
)

// TestArguments checks the arguments of the functions without a cluster, in which there are no objects.
func TestArguments(t *testing.T) {
	for _, c := range []struct {
		name, function string
		arguments      []any
		want           any
		err            string
	}{
		{"get", "get", []any{"v1", "ConfigMap", "ns", "a"}, nil, ""},
		{"get without a namespace", "get", []any{"v1", "Namespace", nil, "a"}, nil, ""},
		{"list", "list", []any{"v1", "ConfigMap", ""}, []any{}, ""},
		{"too few", "get", []any{"v1"}, nil, "cluster.get needs 4 arguments, but has 1"},
		{"too many", "list", []any{"v1", "ConfigMap", "", ""}, nil, "cluster.list needs 3 arguments, but has 4"},
		{"no text", "list", []any{"v1", 7.0, ""}, nil, "argument 2 of cluster.list must be a string"},
		{"no name", "get", []any{"v1", "ConfigMap", "ns", ""}, nil, "cluster.get needs the name of the object"},
		{"Secret", "get", []any{"v1", "Secret", "ns", "a"}, nil, "scripts cannot read Secrets"},
		{"secret", "list", []any{"v1", "sEcret", ""}, nil, "scripts cannot read Secrets"},
		{"list of Secrets", "list", []any{"v1", "SecretList", ""}, nil, "scripts cannot read Secrets"},
	} {
		t.Run(c.name, func(t *testing.T) {
			results, err := clusterscript.Functions(nil)[c.function](t.Context(), c.arguments)
			if c.err == "" && (err != nil || !reflect.DeepEqual(results, []any{c.want})) || c.err != "" && (err == nil || !strings.HasPrefix(err.Error(), c.err)) {
				t.Errorf("got %v, %v, want %v, %s", results, err, c.want, c.err)
			}
		})
	}
}
