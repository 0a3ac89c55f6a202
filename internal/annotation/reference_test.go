// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"os"
	"reflect"
	"regexp"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestExamplesOfTheReference reads every example of annotations, and every expression, in
// docs/reference.md.
func TestExamplesOfTheReference(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(annotations:\n.*?)```").FindAllSubmatch(text, -1)
	if len(blocks) == 0 {
		t.Error("there is no example")
	}
	for _, block := range blocks {
		var example struct {
			Annotations map[string]any `json:"annotations"`
		}
		if err := yaml.Unmarshal(block[1], &example); err != nil {
			t.Fatalf("%v\n%s", err, block[1])
		}
		if r, err := ReadResourceSequencing(example.Annotations); err != nil || reflect.DeepEqual(r, ResourceSequencing{}) {
			t.Errorf("%+v, %v\n%s", r, err, block[1])
		}
	}
	paths := regexp.MustCompile("`(\\{\\.[^`]*\\})`").FindAllSubmatch(text, -1)
	if len(paths) == 0 {
		t.Error("missing path")
	}
	for _, path := range paths {
		if _, err := ParseExpression(string(path[1]) + " == 1"); err != nil {
			t.Error(err)
		}
	}
}
