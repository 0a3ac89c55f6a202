// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package declaration_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ordered-helm/helm/internal/annotation"
)

func TestExternal(t *testing.T) {
	for _, c := range []struct {
		name, annotations string
		want              []string
		key               string
	}{
		{"the canonical key", "depends-on.helm.sh/external: Secret/a", []string{"Secret/a"}, "depends-on.helm.sh/external"},
		{"the key with two slashes", "helm.sh/depends-on/external: [release:b, Secret/a]", []string{"Secret/a", "release:b"}, "helm.sh/depends-on/external"},
		{
			"both", "helm.sh/depends-on/external: [Secret/b], depends-on.helm.sh/external: 'Secret/a,Secret/b'",
			[]string{"Secret/a", "Secret/b"}, "depends-on.helm.sh/external",
		},
		{"none", "a: b", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := declared(t, "annotations: {helm.sh/external-timeout: 2m, "+c.annotations+"}\n")
			if d.Problem != nil || !slices.Equal(d.External, c.want) || d.ExternalKey != c.key || d.ExternalTimeout != 2*time.Minute || d.Declares() != (c.want != nil) {
				t.Errorf("got %q under %q, %s, %v", d.External, d.ExternalKey, d.ExternalTimeout, d.Problem)
			}
			if len(d.Mistakes) > 0 {
				t.Errorf("got mistakes %v", d.Mistakes)
			}
		})
	}
}

func TestInvalidExternal(t *testing.T) {
	for annotations, want := range map[string]string{
		"depends-on.helm.sh/external: registry":                                `shop/Chart.yaml: depends-on.helm.sh/external: "registry": "registry": must have the form`,
		"helm.sh/external-timeout: 30s, depends-on.helm.sh/external: Secret/A": "is not the name of an object",
		"helm.sh/external-timeout: soon":                                       `helm.sh/external-timeout: "soon": must be a duration`,
	} {
		d := declared(t, "annotations: {"+annotations+"}\n")
		if value, ok := errors.AsType[*annotation.ValueError](d.Problem); !ok || value.Key == "" || !strings.Contains(d.Problem.Error(), want) {
			t.Errorf("%s: got %v, want %q", annotations, d.Problem, want)
		}
	}
}
