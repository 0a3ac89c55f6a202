// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/yamledit"
)

// annotated returns a document with the given annotations.
func annotated(annotations ...string) string {
	return "apiVersion: v1\nkind: A\nmetadata:\n  name: a\n  annotations:\n    " + strings.Join(annotations, "\n    ") + "\n"
}

// renamedKeys contains documents, by what renameKeys does with them.
var renamedKeys = map[string]map[bool][]string{
	"renamed":         {true: {annotated("helm.sh/depends-on/layers: b # c"), annotated(`"helm.sh/depends-on/resource-groups": '["b"]'`, "x: y")}},
	"both":            {true: {annotated("helm.sh/depends-on/layers: b", "helm.sh/depends-on/resource-groups: c")}},
	"external":        {true: {annotated("helm.sh/depends-on/external: Secret/b")}},
	"JSON":            {true: {`{"kind": "A", "metadata": {"name": "a", "annotations": {"helm.sh/depends-on/layers": "b"}}}`}},
	"canonical":       {true: {annotated("depends-on.helm.sh/layers: b", "helm.sh/layer: c")}},
	"a list":          {false: {annotated("helm.sh/depends-on/layers: [b]")}},
	"null":            {false: {annotated("helm.sh/depends-on/layers:")}},
	"in a comment":    {false: {annotated("helm.sh/depends-on/layers: b # helm.sh/depends-on/layers")}},
	"two spellings":   {false: {annotated("helm.sh/depends-on/layers: b", "depends-on.helm.sh/layers: c")}},
	"an escaped key":  {false: {annotated(`"helm.sh\/depends-on/layers": b`, "x: helm.sh/depends-on/layers")}},
	"an alias as key": {false: {annotated("x: &k helm.sh/depends-on/layers", "*k : b")}},
	"a hook":          {false: {annotated("helm.sh/depends-on/layers: b", "helm.sh/hook: test")}},
	"a List":          {false: {"kind: List\nmetadata: {name: a}\nitems: [{metadata: {annotations: {helm.sh/depends-on/layers: [b]}}}]\n"}},
	"the hook mode":   {false: {"kind: A\nmetadata: {name: a, runHooksInParallel: true}\n"}},
	"no name":         {false: {"kind: A\nmetadata: {annotations: {helm.sh/depends-on/layers: b}}\n"}},
}

// TestRenameKeys checks which documents renameKeys converts.
func TestRenameKeys(t *testing.T) {
	for name, docs := range renamedKeys {
		t.Run(name, func(t *testing.T) {
			for want, texts := range docs {
				for _, text := range texts {
					if ok := checkRenameKeys(t, text); ok != want {
						t.Errorf("%q: converted: %v, want %v", text, ok, want)
					}
				}
			}
		})
	}
}

// FuzzRenameKeys checks that renameKeys does what canonicalDocument does.
func FuzzRenameKeys(f *testing.F) {
	for _, docs := range renamedKeys {
		for _, texts := range docs {
			for _, text := range texts {
				f.Add(text)
			}
		}
	}
	f.Fuzz(func(t *testing.T, text string) { checkRenameKeys(t, text) })
}

// checkRenameKeys checks that renameKeys returns false, or does what canonicalDocument does.
func checkRenameKeys(t *testing.T, text string) (ok bool) {
	t.Helper()
	if yamledit.CheckAliases(text) != nil {
		return false
	}
	object, err := yamledit.ParseYAMLObject(text)
	if err != nil {
		return false
	}
	got, gotKeys, ok := renameKeys(text, object)
	if !ok {
		return false
	}
	want, wantKeys, err := canonicalDocument(text)
	byKey := func(a, b convertedKey) int { return cmp.Compare(a.key, b.key) }
	slices.SortFunc(gotKeys, byKey)
	slices.SortFunc(wantKeys, byKey)
	if err != nil || got != want || !slices.Equal(gotKeys, wantKeys) {
		t.Fatalf("%q becomes %q, %v, want %q, %v, %v", text, got, gotKeys, want, wantKeys, err)
	}
	if parsed, err := yamledit.ParseYAMLObject(want); err != nil || !reflect.DeepEqual(object, parsed) {
		t.Fatalf("the object of %q is %v, want %v, %v", want, object, parsed, err)
	}
	return true
}
