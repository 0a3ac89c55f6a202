// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestEverySpellingOfAKey reads each key in the reference.
func TestEverySpellingOfAKey(t *testing.T) {
	tests := []struct {
		key  string
		want ResourceSequencing
	}{
		{"helm.sh/layer", ResourceSequencing{Layer: "1s"}},
		{"helm.sh/resource-group", ResourceSequencing{Layer: "1s"}},
		{"helm.sh/depends-on/layers", ResourceSequencing{DependsOn: []string{"1s"}, DependsOnKey: "helm.sh/depends-on/layers"}},
		{"helm.sh/depends-on/resource-groups", ResourceSequencing{DependsOn: []string{"1s"}, DependsOnKey: "helm.sh/depends-on/resource-groups"}},
		{"depends-on.helm.sh/layers", ResourceSequencing{DependsOn: []string{"1s"}, DependsOnKey: "depends-on.helm.sh/layers"}},
		{"depends-on.helm.sh/resource-groups", ResourceSequencing{DependsOn: []string{"1s"}, DependsOnKey: "depends-on.helm.sh/resource-groups"}},
		{"helm.sh/readiness-timeout", ResourceSequencing{Timeout: time.Second}},
		{"helm.sh/external-timeout", ResourceSequencing{ExternalTimeout: time.Second}},
	}
	for _, tt := range tests {
		t.Run(tt.key, func(t *testing.T) {
			if !IsSequencingKey(tt.key) {
				t.Errorf("IsOurs(%q) is false", tt.key)
			}
			got, err := ReadResourceSequencing(map[string]any{"app": "x", tt.key: "1s"})
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v, %v, want %+v", got, err, tt.want)
			}
		})
	}
}

// TestKeysThatAreNotOurs checks that other keys are ignored, whatever their value.
func TestKeysThatAreNotOurs(t *testing.T) {
	for _, key := range []string{
		"helm.sh/layers", "helm.sh/depends-on", "helm.sh/depends-on/subcharts", "depends-on.helm.sh/subcharts",
		"helm.sh/hook", "Helm.sh/Layer", "helm.sh/layer ", "",
	} {
		if IsSequencingKey(key) || IsList(key) || CanonicalKey(key) != key {
			t.Errorf("%q is taken for a key of a resource", key)
		}
		if got, err := ReadResourceSequencing(map[string]any{key: 5}); err != nil || !reflect.DeepEqual(got, ResourceSequencing{}) {
			t.Errorf("%q: got %+v, %v", key, got, err)
		}
	}
}

// TestLegalKey checks that keys with two slashes, which Kubernetes rejects, become keys
// that it accepts.
func TestLegalKey(t *testing.T) {
	for key, want := range map[string]string{
		"helm.sh/depends-on/layers":          "depends-on.helm.sh/layers",
		"helm.sh/depends-on/resource-groups": "depends-on.helm.sh/resource-groups",
		"helm.sh/depends-on/external":        "depends-on.helm.sh/external",
		"depends-on.helm.sh/layers":          "depends-on.helm.sh/layers",
		"helm.sh/layer":                      "helm.sh/layer",
		"helm.sh/readiness-success":          "helm.sh/readiness-success",
		"anything/else/here":                 "anything/else/here",
	} {
		if got := CanonicalKey(key); got != want {
			t.Errorf("LegalKey(%q) = %q, want %q", key, got, want)
		}
		if strings.Count(CanonicalKey(key), "/") > 1 && IsSequencingKey(key) {
			t.Errorf("%q stays illegal", key)
		}
	}
	for key, want := range map[string]bool{
		"helm.sh/depends-on/layers": true, "depends-on.helm.sh/resource-groups": true,
		"helm.sh/readiness-success": true, "helm.sh/readiness-failure": true,
		"helm.sh/depends-on/external": true, "depends-on.helm.sh/external": true,
		"helm.sh/layer": false, "helm.sh/readiness-timeout": false, "helm.sh/external-timeout": false,
	} {
		if IsList(key) != want {
			t.Errorf("IsList(%q) = %v", key, !want)
		}
	}
}

// TestTwoSpellings checks that lists with equivalent keys are merged, and that different
// single values are rejected.
func TestTwoSpellings(t *testing.T) {
	t.Run("lists are merged", func(t *testing.T) {
		got, err := ReadResourceSequencing(map[string]any{
			"helm.sh/depends-on/layers":          []any{"d", "b"},
			"depends-on.helm.sh/layers":          `["c"]`,
			"helm.sh/depends-on/resource-groups": "a,b",
			"depends-on.helm.sh/resource-groups": "e",
		})
		if err != nil || !slices.Equal(got.DependsOn, []string{"a", "b", "c", "d", "e"}) || got.DependsOnKey != "depends-on.helm.sh/layers" ||
			got.KeyOf("c") != "depends-on.helm.sh/layers" || got.KeyOf("b") != "helm.sh/depends-on/layers" ||
			got.KeyOf("a") != "helm.sh/depends-on/resource-groups" || got.KeyOf("e") != "depends-on.helm.sh/resource-groups" {
			t.Errorf("got %+v, %v", got, err)
		}
	})
	t.Run("an empty list is as if absent", func(t *testing.T) {
		got, err := ReadResourceSequencing(map[string]any{"depends-on.helm.sh/layers": "[]", "helm.sh/depends-on/layers": "a"})
		if err != nil || !slices.Equal(got.DependsOn, []string{"a"}) || got.DependsOnKey != "helm.sh/depends-on/layers" {
			t.Errorf("got %+v, %v", got, err)
		}
	})
	t.Run("layers that differ are an error", func(t *testing.T) {
		_, err := ReadResourceSequencing(map[string]any{"helm.sh/layer": "a", "helm.sh/resource-group": "b"})
		var invalid *ValueError
		if !errors.As(err, &invalid) || err.Error() != `helm.sh/resource-group: "b": conflicts with helm.sh/layer: "a"; a resource belongs to one layer` {
			t.Errorf("got %v", err)
		}
	})
	t.Run("layers that agree, one with white space", func(t *testing.T) {
		got, err := ReadResourceSequencing(map[string]any{"helm.sh/layer": "a ", "helm.sh/resource-group": "a"})
		if err != nil || got.Layer != "a" {
			t.Errorf("got %+v, %v", got, err)
		}
	})
	t.Run("an empty layer beside a group", func(t *testing.T) {
		got, err := ReadResourceSequencing(map[string]any{"helm.sh/layer": "", "helm.sh/resource-group": "b"})
		if err != nil || got.Layer != "b" {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

func TestExpressionsAreKeptAsWritten(t *testing.T) {
	r, err := ReadResourceSequencing(map[string]any{
		"helm.sh/readiness-success": []any{"succeeded==1"},
		"helm.sh/readiness-failure": `["{.conditions[?(@.type==\"Failed\")].status}==True, yes","failed>=1"]`,
	})
	want := ResourceSequencing{
		Success: parsed(t, "succeeded==1"),
		Failure: parsed(t, `{.conditions[?(@.type=="Failed")].status}==True, yes`, "failed>=1"),
	}
	if err != nil || !reflect.DeepEqual(r, want) {
		t.Errorf("got %+v, %v, want %+v", r, err, want)
	}
	for _, key := range []string{ReadinessSuccess, ReadinessFailure} {
		if _, err := ReadResourceSequencing(map[string]any{key: 1}); err == nil || !strings.HasPrefix(err.Error(), key+": 1: ") {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// FuzzReadResource checks that every accepted value follows the rules for names and lists.
func FuzzReadResource(f *testing.F) {
	for i, a := range seeds {
		b, c := seeds[(i+3)%len(seeds)], seeds[(i+7)%len(seeds)]
		f.Add(a, b, b, c, "5s")
	}
	f.Fuzz(func(t *testing.T, layer, group, layers, groups, timeout string) {
		in := map[string]any{
			"helm.sh/layer": layer, "helm.sh/resource-group": group,
			"helm.sh/depends-on/layers": layers, "depends-on.helm.sh/resource-groups": groups,
			"helm.sh/readiness-success": layers, "helm.sh/readiness-timeout": timeout,
		}
		r, err := ReadResourceSequencing(in)
		if err != nil {
			var invalid *ValueError
			if !errors.As(err, &invalid) || in[invalid.Key] == nil {
				t.Fatalf("the error %v names no key of the resource", err)
			}
			return
		}
		if r.Layer != "" && layerNameProblem(r.Layer) != "" {
			t.Fatalf("the layer %q is accepted", r.Layer)
		}
		if !slices.IsSorted(r.DependsOn) || normal(r.DependsOn) != nil || r.Timeout < 0 {
			t.Fatalf("got %+v", r)
		}
		for _, name := range r.DependsOn {
			if layerNameProblem(name) != "" {
				t.Fatalf("the layer %q is accepted", name)
			}
		}
	})
}
