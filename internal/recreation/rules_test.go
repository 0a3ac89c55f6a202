// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package recreation

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/sequencer"
)

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

// TestRules checks which objects patterns match.
func TestRules(t *testing.T) {
	for _, tt := range []struct {
		pattern string
		id      sequencer.ID
		want    bool
	}{
		{"StatefulSet/db", sequencer.ID{Group: "apps", Kind: "StatefulSet", Name: "db"}, true},
		{"statefulset/db", sequencer.ID{Group: "apps", Kind: "StatefulSet", Name: "db"}, true},
		{"StatefulSet/db", sequencer.ID{Group: "apps", Kind: "StatefulSet", Name: "db2"}, false},
		{"StatefulSet/d?", sequencer.ID{Group: "apps", Kind: "StatefulSet", Name: "db"}, true},
		{"*/db", sequencer.ID{Kind: "Service", Name: "db"}, true},
		{"*/*", sequencer.ID{Group: "rbac.authorization.k8s.io", Kind: "Role", Name: "a:b"}, true},
		{"*/*", sequencer.ID{Kind: "Namespace", Name: "db"}, false},
		{"*/*", sequencer.ID{Kind: "PersistentVolumeClaim", Name: "db"}, false},
		{"*/*", sequencer.ID{Kind: "PersistentVolume", Name: "db"}, false},
		{"*/*", sequencer.ID{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "db"}, false},
		{"*/*", sequencer.ID{Group: "example.com", Kind: "Volume", Name: "db"}, true},
	} {
		rules, err := ParseRules([]string{"Job/none", tt.pattern})
		if err != nil {
			t.Fatal(err)
		}
		if got := rules.Allow(tt.id); got != tt.want {
			t.Errorf("%s and %s: got %t", tt.pattern, tt.id, got)
		}
	}
}

// TestInvalidRules checks which patterns are errors.
func TestInvalidRules(t *testing.T) {
	for pattern, want := range map[string]string{
		"": "must be KIND/NAME", "db": "must be KIND/NAME", "/db": "must be KIND/NAME", "Job/": "must be KIND/NAME", "Job/a/b": "must be KIND/NAME", "[/a": "must be KIND/NAME", "Job/[": "must be KIND/NAME",
		"Namespace/a": "a Namespace is never recreated", "persistentvolumeclaim/*": "a PersistentVolumeClaim is never recreated",
	} {
		if err := Validate([]string{"Job/a", pattern}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v", pattern, err)
		}
	}
}

// TestUnusedRules checks what is said about patterns that match no object.
func TestUnusedRules(t *testing.T) {
	objects := []sequencer.ID{{Group: "batch", Kind: "Job", Name: "a"}}
	for _, tt := range []struct{ pattern, warning, err string }{
		{"Job/a", "", ""}, {"Job/*", "", ""}, {"Pod/*", `"Pod/*" matches no object`, ""}, {"Job/b", "", `cannot recreate "Job/b": the release has no such object`},
	} {
		rules, err := ParseRules([]string{tt.pattern})
		if err != nil {
			t.Fatal(err)
		}
		warnings, err := rules.CheckUse(objects)
		if got := strings.Join(warnings, ""); !strings.Contains(got, tt.warning) || (got == "") != (tt.warning == "") {
			t.Errorf("%s: the warning is %q", tt.pattern, got)
		}
		if (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
			t.Errorf("%s: the error is %v", tt.pattern, err)
		}
	}
}
