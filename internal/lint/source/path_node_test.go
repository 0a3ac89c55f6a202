// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"testing"

	"github.com/ordered-helm/helm/internal/yamledit"
)

func TestPathNode(t *testing.T) {
	root, err := yamledit.Parse("charts:\n- path: a\n  dependsOn: [b]\n- &rule\n  path: c\nresources:\n- *rule\n- match: {kind: Job}\nempty: {}\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, path, want string }{
		{"a key", "charts", "1:1"},
		{"an item", "charts[0]", "2:3"},
		{"a key of an item", "charts[0].dependsOn", "3:3"},
		{"a key of an item that is an alias", "resources[0].path", "5:3"},
		{"a key of a mapping of an item", "resources[1].match.kind", "8:11"},
		{"a key that does not exist", "charts[0].external", "2:3"},
		{"a key in an empty mapping", "empty.a", "9:1"},
		{"an item that does not exist", "charts[2].path", "1:1"},
		{"an item of a mapping", "empty[0]", "9:1"},
		{"an index that is no number", "charts[x]", "1:1"},
		{"nothing", "others[0]", "none"},
		{"an empty path", "", "none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := "none"
			if n := PathNode(root, tt.path); n != nil {
				got = fmt.Sprintf("%d:%d", n.Line, n.Column)
			}
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
	if n := PathNode(nil, "charts"); n != nil {
		t.Errorf("without a root: got %+v", n)
	}
}
