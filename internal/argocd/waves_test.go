// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package argocd_test

import (
	"slices"
	"testing"

	"github.com/ordered-helm/helm/internal/argocd"
)

func TestWaves(t *testing.T) {
	at := func(level, own int) argocd.OrderPosition { return argocd.OrderPosition{Level: level, Assigned: own} }
	tests := []struct {
		name      string
		positions []argocd.OrderPosition
		want      []int
	}{
		{"none", nil, []int{}},
		{"levels", []argocd.OrderPosition{at(0, 0), at(2, 0), at(1, 0), at(0, 0)}, []int{0, 2, 1, 0}},
		{"definitions", []argocd.OrderPosition{at(-1, 0), at(0, 0)}, []int{-1, 0}},
		{"definitions alone", []argocd.OrderPosition{at(-1, 0), at(-1, 3)}, []int{-2, -1}},
		{"waves of the author", []argocd.OrderPosition{at(0, 5), at(0, -3), at(1, -100), at(0, 0), at(1, 0)}, []int{2, 0, 3, 1, 4}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := argocd.Waves(tt.positions); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestAddWave(t *testing.T) {
	tests := []struct{ name, doc, want string }{
		{
			"no annotations", "# Source: x\nkind: Job\nmetadata:\n  name: a # the name\n",
			"# Source: x\nkind: Job\nmetadata:\n  annotations: {argocd.argoproj.io/sync-wave: '3'}\n  name: a # the name\n",
		},
		{
			"annotations", "kind: Job\nmetadata:\n  annotations:\n    a: \"b\"   # kept\n  name: a\n",
			"kind: Job\nmetadata:\n  annotations:\n    argocd.argoproj.io/sync-wave: '3'\n    a: \"b\"   # kept\n  name: a\n",
		},
		{
			"a wave of the author", "kind: Job\nmetadata:\n  annotations:\n    argocd.argoproj.io/sync-wave: \"-7\"\n  name: a\n",
			"kind: Job\nmetadata:\n  annotations:\n    argocd.argoproj.io/sync-wave: '3'\n  name: a\n",
		},
		{"no metadata", "kind: Job\n", "kind: Job\n"},
		{
			"list", "kind: List\nitems:\n- kind: Job\n  metadata:\n    name: a\n- kind: Job\n  metadata: {name: b}\n",
			"kind: List\nitems:\n- kind: Job\n  metadata:\n    annotations: {argocd.argoproj.io/sync-wave: '3'}\n    name: a\n" +
				"- kind: Job\n  metadata: {\"annotations\": {\"argocd.argoproj.io/sync-wave\": \"3\"}, name: b}\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := argocd.AddWave(tt.doc, 3)
			if err != nil || got != tt.want {
				t.Errorf("got %v:\n%s\nwant:\n%s", err, got, tt.want)
			}
		})
	}
	if _, err := argocd.AddWave("a: [", 1); err == nil {
		t.Error("a document that cannot be parsed is no error")
	}
}
