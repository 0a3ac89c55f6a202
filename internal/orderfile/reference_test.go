// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package orderfile

import (
	"os"
	"regexp"
	"testing"
)

// TestExamplesOfTheReference parses every order file in docs/reference.md.
func TestExamplesOfTheReference(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(apiVersion: [^\n]*\nkind: Order\n.*?)```").FindAllSubmatch(text, -1)
	if len(blocks) == 0 {
		t.Error("there is no example")
	}
	for _, block := range blocks {
		parse(t, string(block[1]))
	}
}
