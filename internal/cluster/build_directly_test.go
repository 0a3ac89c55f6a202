// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// FuzzSplitDocuments checks that splitDocuments splits a text in the same way as the API
// machinery, or returns errUnsupported.
func FuzzSplitDocuments(f *testing.F) {
	for _, text := range []string{
		"", "a: b", "a: b\n---\nc: d\n", "---\n---\n# only\n--- # comment\n", "--- text\n", "a: |\n  --- no\n\n\n---", "\r\n---\r\n", "----\n", "\n\n---\n \n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := splitDocuments(text)
		if err != nil {
			return
		}
		var want []string
		reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
		for {
			document, err := reader.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%q is refused: %v", text, err)
			}
			text := string(document)
			if strings.HasPrefix(text, "---") { // the API machinery does not remove the separator here
				_, text, _ = strings.Cut(text, "\n")
			}
			if text != "" {
				want = append(want, text)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestCRDNames(t *testing.T) {
	const crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  annotations:\n    spec: not it\n  name: as.example.com\nspec:\n  group: {broken\n"
	for _, c := range []struct {
		name, file string
		want       []string
	}{
		{name: "nothing"},
		{"one, of which the rest is not read", crd, []string{"as.example.com"}},
		{"two and comments", "# of the project\n---\n" + crd + "---\n# another\n" + strings.Replace(crd, "as.", "bs.", 1), []string{"as.example.com", "bs.example.com"}},
		{"something else in it", crd + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", nil},
		{"an old version", strings.Replace(crd, "/v1", "/v1beta1", 1), nil},
		{"a name after the schema", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: {}\nmetadata: {name: as.example.com}\n", nil},
		{"not YAML", "a: [\nspec:\n", nil},
		{"a schema alone", "spec: {}\n", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := CRDNames([]byte(c.file)); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
