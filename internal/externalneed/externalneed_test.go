// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package externalneed

import (
	"errors"
	"strings"
	"testing"
)

// TestParse checks the two forms of external dependencies.
//   - "KIND[.GROUP]/[NAMESPACE/]NAME is an object"
//   - "release:[NAMESPACE/]NAME is a release"
func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       Need
		text2      string // the canonical text, if it differs
	}{
		{name: "kind and name", text: "Secret/registry", want: Need{Kind: "Secret", Name: "registry"}},
		{name: "namespace", text: "Secret/infra/registry", want: Need{Kind: "Secret", Namespace: "infra", Name: "registry"}},
		{name: "group", text: "Deployment.apps/web", want: Need{Kind: "Deployment", Group: "apps", Name: "web"}},
		{
			name: "all", text: "Certificate.cert-manager.io/infra/web.example.com",
			want: Need{Kind: "Certificate", Group: "cert-manager.io", Namespace: "infra", Name: "web.example.com"},
		},
		{name: "spaces around", text: " Secret/registry\n", want: Need{Kind: "Secret", Name: "registry"}, text2: "Secret/registry"},
		{name: "release", text: "release:kafka", want: Need{Release: true, Name: "kafka"}},
		{name: "release in a namespace", text: "release:data/kafka", want: Need{Release: true, Namespace: "data", Name: "kafka"}},
		{name: "digits in the kind", text: "Kind2/a", want: Need{Kind: "Kind2", Name: "a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Parse(c.text)
			if err != nil || got != c.want {
				t.Fatalf("got %+v, %v, want %+v", got, err, c.want)
			}
			want := c.text
			if c.text2 != "" {
				want = c.text2
			}
			if text := got.String(); text != want {
				t.Errorf("got the text %q, want %q", text, want)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "must have the form KIND[.GROUP]/[NAMESPACE/]NAME"},
		{"no kind", "registry", "must have the form"},
		{"plural", "secrets/registry", "kinds begin with a capital letter"},
		{"empty kind", "/registry", "is not a kind"},
		{"kind with a hyphen", "My-Kind/a", "at most 63 letters and digits"},
		{"version instead of a group", "Secret.v1/a", "is an API version"},
		{"beta version", "Widget.v1beta1/a", "is an API version"},
		{"apiVersion", "Deployment/apps/v1/a", "too many slashes"},
		{"empty group", "Secret./a", "is not an API group"},
		{"group in upper case", "Secret.Example/a", "is not an API group"},
		{"empty name", "Secret/", `"" is not the name of an object`},
		{"name in upper case", "Secret/Registry", "is not the name of an object"},
		{"glob", "Secret/registry-*", "is not the name"},
		{"long name", "Secret/" + strings.Repeat("a", 254), "at most 253"},
		{"empty namespace", "Secret//a", "is not the name of a namespace"},
		{"namespace with a dot", "Secret/a.b/c", "is not the name of a namespace"},
		{"release without a name", "release:", "is not the name of a release"},
		{"long name of a release", "release:" + strings.Repeat("a", 54), "at most 53"},
		{"release with too many parts", "release:a/b/c", "too many slashes"},
		{"space after release", "release: a", "is not the name of a release"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse(c.text)
			var parseError *ParseError
			if !errors.As(err, &parseError) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// FuzzParse checks that Parse never panics, and that String returns a text that means the same.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"Secret/a", "Deployment.apps/ns/a", "release:ns/a", "release:", "/", "A.b.c/d/e/f", "Ä/a"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(n.String())
		if err != nil || again != n || n.String() != strings.TrimSpace(text) {
			t.Errorf("%q: got %+v, then %+v, %v", text, n, again, err)
		}
	})
}
