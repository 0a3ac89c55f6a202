// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"slices"
	"strings"
	"testing"
)

func TestSecretValues(t *testing.T) {
	secret := map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"stringData": map[string]any{"a": "open sesame", "user": "postgres"},
		"data":       map[string]any{"b": "aHVudGVyMg==", "empty": nil},
	}
	config := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "my-postgres"}, "data": map[string]any{"a": "plain text"}}
	got := strings.Join(SecretValues([]map[string]any{secret, config}), ",")
	for text, want := range map[string]bool{"open sesame": true, "hunter2": true, "aHVudGVyMg==": true, "b3BlbiBzZXNhbWU=": true, "postgres": false, "plain text": false} {
		if strings.Contains(got, text) != want {
			t.Errorf("%q is a secret: %v, want %v", text, !want, want)
		}
	}
}

// TestSecretValuesOfManifests checks that SecretValues finds values that are not strings,
// and values in the items of lists.
func TestSecretValuesOfManifests(t *testing.T) {
	const manifest = `
apiVersion: v1
kind: Secret
metadata: {name: a, namespace: production}
stringData: {int: 12345678, long: 9876543210987654321, float: 1234.5678, on: true, deep: {list: [87654321]}, where: production}
data: {port: 5432123, pass: "PDw/Pz8+Pj4=", nothing: }
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Secret, metadata: {name: b}, stringData: {x: in-a-list}}
---
no object
`
	const hook = "apiVersion: v1\nkind: Secret\nmetadata: {name: h}\nstringData: {x: 11223344}\n"
	texts := SecretValues(append(ManifestObjects(manifest), ManifestObjects(hook)...))
	for _, want := range []string{
		"12345678", "MTIzNDU2Nzg=", "9876543210987654321", "1234.5678", "true", "87654321", "5432123", "in-a-list", "11223344",
		"<<???>>>", "PDw/Pz8+Pj4=", "PDw/Pz8+Pj4", "PDw_Pz8-Pj4=", "PDw_Pz8-Pj4",
	} {
		if !slices.Contains(texts, want) {
			t.Errorf("%q is no secret", want)
		}
	}
	if slices.Contains(texts, "production") {
		t.Error("the name of a namespace is a secret")
	}
	texts = scalars(map[string]any{"a": int64(12345678), "b": 12345678.0})
	if want := []string{"12345678", "12345678", "12345678", "1.2345678e+07"}; !slices.Equal(texts, want) {
		t.Errorf("numbers are spelled %q, want %q", texts, want)
	}
}
