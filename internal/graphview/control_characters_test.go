// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package graphview_test

import (
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/graphview"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// TestNamesWithControlCharacters checks that no format writes control sequences.
func TestNamesWithControlCharacters(t *testing.T) {
	const name = "a\x1b[31mred\x1b]0;title\a\u009b1m\r"
	root := &sequencer.Chart{Name: "shop", Sequenced: true}
	v := graphview.View{Reasons: true, Plan: build(t, root, []sequencer.Resource{{Chart: "shop", File: "shop/templates/" + name, Object: map[string]any{
		"apiVersion": "v1", "kind": "K" + name, "metadata": map[string]any{"name": name, "annotations": map[string]any{"helm.sh/layer": "x"}},
	}}})}
	for _, f := range graphview.Formats() {
		acts := "\x1b\a\r"
		if f == graphview.FormatText || f == graphview.FormatDOT {
			acts += "\u009b"
		}
		if text := write(t, v, f); strings.ContainsAny(text, acts) || !strings.Contains(text, "red") {
			t.Errorf("%s: %q", f, text)
		}
	}
}
