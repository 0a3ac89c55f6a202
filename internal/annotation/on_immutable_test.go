// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestReadOnImmutable checks in which objects a chart can allow their recreation.
func TestReadOnImmutable(t *testing.T) {
	const notAllowed = "is only for Jobs"
	for _, tt := range []struct{ head, more, value, want string }{
		{"apiVersion: batch/v1\nkind: Job", "", "recreate", ""},
		{"apiVersion: v1\nkind: Pod", "", "recreate", ""},
		{"apiVersion: v1\nkind: ConfigMap", "immutable: true", "recreate", ""},
		{"apiVersion: v1\nkind: Secret", "immutable: true", "recreate", ""},
		{"apiVersion: v1\nkind: Secret", "immutable: false", "recreate", notAllowed},
		{"apiVersion: v1\nkind: ConfigMap", "", "recreate", notAllowed},
		{"apiVersion: apps/v1\nkind: StatefulSet", "", "recreate", notAllowed},
		{"apiVersion: example.com/v1\nkind: Job", "", "recreate", notAllowed},
		{"apiVersion: batch/v1\nkind: Job", "", "Recreate", `must be "recreate"`},
		{"apiVersion: batch/v1\nkind: Job", "", "''", `must be "recreate"`},
	} {
		o := map[string]any{}
		text := tt.head + "\nmetadata: {name: a, annotations: {helm.sh/on-immutable: " + tt.value + "}}\n" + tt.more
		if err := yaml.Unmarshal([]byte(text), &o); err != nil {
			t.Fatal(err)
		}
		recreate, err := ReadOnImmutable(o)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s, %s: got %v, want %q", tt.head, tt.value, err, tt.want)
		}
		if recreate != (tt.want == "") {
			t.Errorf("%s, %s: declared %t", tt.head, tt.value, recreate)
		}
	}
	if recreate, err := ReadOnImmutable(map[string]any{"kind": "Job"}); recreate || err != nil {
		t.Errorf("without the annotation: %t, %v", recreate, err)
	}
}
