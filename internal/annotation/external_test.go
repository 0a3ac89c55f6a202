// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestReadExternal(t *testing.T) {
	for _, c := range []struct {
		name  string
		value any
		want  []string
	}{
		{"a string", "Secret/registry", []string{"Secret/registry"}},
		{"commas", "Secret/registry, release:data/kafka", []string{"Secret/registry", "release:data/kafka"}},
		{"a YAML list", []any{"Secret/registry", "Secret/registry"}, []string{"Secret/registry"}},
		{"a JSON list", `["release:kafka","Certificate.cert-manager.io/web"]`, []string{"release:kafka", "Certificate.cert-manager.io/web"}},
		{"absent", nil, nil},
		{"empty", "[]", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ReadExternal(DependsOnExternal, c.value)
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestInvalidExternal(t *testing.T) {
	for _, c := range []struct {
		name, key string
		value     any
		kind      ErrorKind
		want      string
	}{
		{"not a need", DependsOnExternal, "registry", InvalidExternal, `depends-on.helm.sh/external: "registry": "registry": must have the form`},
		{"plural", "helm.sh/depends-on/external", []any{"secrets/a"}, InvalidExternal, "kinds begin with a capital letter"},
		{"a number", DependsOnExternal, rawScalar("5"), InvalidValue, "must be a list of strings"},
		{"a list of lists", DependsOnExternal, []any{[]any{"Secret/a"}}, InvalidValue, "not a list of lists"},
		{"a timeout without a unit", ExternalTimeout, "30", InvalidDuration, "must be a duration"},
		{"a timeout of 0", ExternalTimeout, "0s", InvalidDuration, "must be greater than 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ReadResourceSequencing(map[string]any{c.key: c.value})
			invalid, ok := errors.AsType[*ValueError](err)
			if !ok || invalid.Kind != c.kind || invalid.Key != c.key || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestExternalOfResource(t *testing.T) {
	got, err := ReadResourceSequencing(map[string]any{
		"helm.sh/depends-on/external": []any{"Secret/b", "Secret/a"},
		"depends-on.helm.sh/external": "release:c, Secret/a",
		"helm.sh/external-timeout":    "1m",
	})
	if err != nil || !slices.Equal(got.External, []string{"Secret/a", "Secret/b", "release:c"}) || got.ExternalTimeout != time.Minute {
		t.Fatalf("got %+v, %v", got, err)
	}
	for need, want := range map[string]string{
		"Secret/a": "depends-on.helm.sh/external", "release:c": "depends-on.helm.sh/external", "Secret/b": "helm.sh/depends-on/external",
	} {
		if key := got.KeyOfExternal(need); key != want {
			t.Errorf("%s: got the key %q, want %q", need, key, want)
		}
	}
	if len(got.DependsOn) > 0 || got.DependsOnKey != "" {
		t.Errorf("got the layers %q", got.DependsOn)
	}
}
