// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"errors"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/yamledit"
)

// job returns a document with the given annotations. Its other parts are written in an
// unusual way, to show that they remain unchanged.
func job(annotations string) string {
	return "# about it\nkind: Job   # a job\napiVersion: \"batch/v1\"\nmetadata:\n    name:  j\n    annotations:\n" + annotations + "\n    labels: {a: 'b'}\nspec: {n: 0x10, \"on\": [ 1,2 ]}"
}

// TestCanonicalForm checks that only annotations that Kubernetes or Helm would reject are
// rewritten, and that all other bytes are unchanged.
func TestCanonicalForm(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"what is legal stays", job("        helm.sh/layer: a # c\n        depends-on.helm.sh/layers: '[\"b\"]'"), job("        helm.sh/layer: a # c\n        depends-on.helm.sh/layers: '[\"b\"]'")},
		{"the key with two slashes", job("        helm.sh/depends-on/layers: b # c"), job("        depends-on.helm.sh/layers: b # c")},
		{"the other key with two slashes", job("        \"helm.sh/depends-on/resource-groups\": \"b\""), job("        \"depends-on.helm.sh/resource-groups\": \"b\"")},
		{"the key of external dependencies with two slashes", job("        helm.sh/depends-on/external: [Secret/b, release:c] # d"), job("        depends-on.helm.sh/external: '[\"Secret/b\",\"release:c\"]' # d")},
		{"a flow list", job("        a: b\n        helm.sh/depends-on/layers: [\"database, queue\"]"), job("        a: b\n        depends-on.helm.sh/layers: '[\"database, queue\"]'")},
		{"a block list", job("        helm.sh/depends-on/layers:\n            - b\n            - c # last\n        a: b"), job("        depends-on.helm.sh/layers: '[\"b\",\"c\"]'\n        a: b")},
		{"a list under a legal key", job("        depends-on.helm.sh/layers: [b]"), job("        depends-on.helm.sh/layers: '[\"b\"]'")},
		{"expressions", job("        helm.sh/readiness-success: [\"succeeded>=1\", 'a==\"b''\"']\n        helm.sh/readiness-failure: [\"failed==1\"]"), job("        helm.sh/readiness-success: '[\"succeeded>=1\",\"a==\\\"b''\\\"\"]'\n        helm.sh/readiness-failure: '[\"failed==1\"]'")},
		{"an empty list", job("        helm.sh/depends-on/layers: []"), job("        depends-on.helm.sh/layers: '[]'")},
		{"no value", job("        helm.sh/depends-on/layers:\n        helm.sh/layer:"), job("        depends-on.helm.sh/layers:\n        helm.sh/layer:")},
		{
			"two spellings are merged under the legal key",
			job("        helm.sh/depends-on/layers: [b, c] # mine\n        z: y\n        depends-on.helm.sh/layers: \"a\" # yours"),
			job("        z: y\n        depends-on.helm.sh/layers: '[\"a\",\"b\",\"c\"]' # yours"),
		},
		{
			"two spellings that are lists in lines of their own",
			job("        depends-on.helm.sh/resource-groups:\n        - a\n        z:   y\n        helm.sh/depends-on/resource-groups:\n        - b\n        - c"),
			job("        depends-on.helm.sh/resource-groups: '[\"a\",\"b\",\"c\"]'\n        z:   y"),
		},
		{
			"two names of a list stay two",
			job("        helm.sh/depends-on/layers: [a]\n        helm.sh/depends-on/resource-groups: [b]"),
			job("        depends-on.helm.sh/layers: '[\"a\"]'\n        depends-on.helm.sh/resource-groups: '[\"b\"]'"),
		},
		{
			"JSON",
			`{"kind": "Job", "metadata": {"name": "j", "annotations": {"helm.sh/depends-on/layers": ["a", "b"], "x": "<y>"}}}`,
			`{"kind": "Job", "metadata": {"name": "j", "annotations": {"depends-on.helm.sh/layers": "[\"a\",\"b\"]", "x": "<y>"}}}`,
		},
		{
			"JSON with two spellings",
			"{\"kind\": \"Job\", \"metadata\": {\"annotations\": {\n  \"helm.sh/depends-on/layers\": [\"b\"],\n  \"depends-on.helm.sh/layers\": [\"a\"]\n}, \"name\": \"j\"}}",
			"{\"kind\": \"Job\", \"metadata\": {\"annotations\": {\n  \"depends-on.helm.sh/layers\": \"[\\\"a\\\",\\\"b\\\"]\"\n}, \"name\": \"j\"}}",
		},
		{
			"the items of a list",
			"kind: List\napiVersion: v1\nitems:\n- kind: A\n  metadata: {name: a, annotations: {helm.sh/depends-on/layers: [x]}}\n-   kind: List\n    items:\n    - kind: B\n      metadata:\n        annotations:\n          helm.sh/depends-on/layers:\n          - yy",
			"kind: List\napiVersion: v1\nitems:\n- kind: A\n  metadata: {name: a, annotations: {depends-on.helm.sh/layers: \"[\\\"x\\\"]\"}}\n-   kind: List\n    items:\n    - kind: B\n      metadata:\n        annotations:\n          depends-on.helm.sh/layers: '[\"yy\"]'",
		},
		{
			"annotations that two objects share",
			"kind: List\nitems:\n- kind: A\n  metadata: {name: a, annotations: &shared {helm.sh/depends-on/layers: [x]}}\n- kind: B\n  metadata: {name: b, annotations: *shared}",
			"kind: List\nitems:\n- kind: A\n  metadata: {name: a, annotations: &shared {depends-on.helm.sh/layers: \"[\\\"x\\\"]\"}}\n- kind: B\n  metadata: {name: b, annotations: *shared}",
		},
		{
			"annotations that are merged in",
			"x-common: &common\n  helm.sh/depends-on/layers:   [x]\nkind: A\nmetadata:\n  name: a\n  annotations:\n    <<: [*common, {helm.sh/readiness-success: [a==1]}]\n    b: c",
			"x-common: &common\n  depends-on.helm.sh/layers:   '[\"x\"]'\nkind: A\nmetadata:\n  name: a\n  annotations:\n    <<: [*common, {helm.sh/readiness-success: \"[\\\"a==1\\\"]\"}]\n    b: c",
		},
		{"lines that end with CR LF", strings.ReplaceAll(job("        helm.sh/depends-on/layers:\n        - b"), "\n", "\r\n"), strings.ReplaceAll(job("        depends-on.helm.sh/layers: '[\"b\"]'"), "\n", "\r\n")},
		{"the same text elsewhere stays", "kind: ConfigMap\nmetadata: {name: c}\ndata:\n  x: |\n    metadata:\n      annotations:\n        helm.sh/depends-on/layers: [a]", "kind: ConfigMap\nmetadata: {name: c}\ndata:\n  x: |\n    metadata:\n      annotations:\n        helm.sh/depends-on/layers: [a]"},
		{"a list under a key that is not ours is for Helm to refuse", "kind: A\nmetadata:\n  labels:\n    helm.sh/depends-on/layers: [a]", "kind: A\nmetadata:\n  labels:\n    helm.sh/depends-on/layers: [a]"},
		{"a date is text to Kubernetes", job("        helm.sh/layer: 2024-01-01"), job("        helm.sh/layer: 2024-01-01")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := rendered(t, template(tt.in)).Manifest; got != stored(tt.want) {
				t.Errorf("got:\n%s\nwant:\n%s", got, stored(tt.want))
			}
		})
	}
}

// TestCanonicalFormOfAFile checks that the text between the documents of a file is unchanged.
func TestCanonicalFormOfAFile(t *testing.T) {
	const other, list, same = "kind: A\nmetadata: {name: a}\n# helm.sh/layer", "kind: B\nmetadata: {name: b, annotations: {depends-on.helm.sh/layers: [x]}}", "kind: C\nmetadata: {name: c}"
	const legal = "kind: B\nmetadata: {name: b, annotations: {depends-on.helm.sh/layers: \"[\\\"x\\\"]\"}}"
	got := rendered(t, template("\n---\n"+other+"\n\n---   \n# first\n"+list+"\n---\n"+same+"\n--- # x\n"+strings.ReplaceAll(list, "b,", "b2,")+"\n")).Manifest
	want := stored(other, "# first\n"+legal, "# x\n"+strings.ReplaceAll(legal, "b,", "b2,"), same)
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// TestCanonicalFormOfHooks checks that the sequencing annotations of hooks, which are ignored,
// are converted to a form that Kubernetes accepts if they are valid, and deleted otherwise.
func TestCanonicalFormOfHooks(t *testing.T) {
	const hook = "        helm.sh/hook: pre-install"
	for _, tt := range []struct{ name, in, want string }{
		{"a list", "\n        helm.sh/depends-on/layers: [a]", "\n        depends-on.helm.sh/layers: '[\"a\"]'"},
		{"a key with two slashes", "\n        helm.sh/depends-on/layers: a", "\n        depends-on.helm.sh/layers: a"},
		{"an invalid list under such a key", "\n        helm.sh/depends-on/layers: [[a]]", ""},
		{"an invalid text under such a key", "\n        helm.sh/depends-on/layers: '[a'", "\n        depends-on.helm.sh/layers: '[a'"},
		{"two spellings", "\n        helm.sh/depends-on/layers: [a]\n        depends-on.helm.sh/layers: b", "\n        depends-on.helm.sh/layers: '[\"b\",\"a\"]'"},
		{"two spellings, one invalid", "\n        helm.sh/depends-on/layers: 5\n        depends-on.helm.sh/layers: [b]", ""},
		{"two spellings, one invalid, and a legal text", "\n        helm.sh/depends-on/layers: 5\n        depends-on.helm.sh/layers: b", "\n        depends-on.helm.sh/layers: b"},
		{"a legal text", "\n        helm.sh/layer: \"a, b\" # c\n        helm.sh/readiness-timeout: never", "\n        helm.sh/layer: \"a, b\" # c\n        helm.sh/readiness-timeout: never"},
		{"a list of layers", "\n        helm.sh/layer: [a, b]", ""},
		{"a number", "\n        helm.sh/layer: 5", ""},
		{"a boolean", "\n        helm.sh/resource-group: true", ""},
		{"a map", "\n        helm.sh/readiness-success: {a: b}", ""},
		{"a timeout that is a number", "\n        helm.sh/readiness-timeout: 30", ""},
		{"no value", "\n        helm.sh/layer:", "\n        helm.sh/layer:"},
		{"a key that is almost one", "\n        helm.sh/layers: a", "\n        helm.sh/layers: a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, event := range []string{"pre-install", "test-failure"} {
				in, want := strings.Replace(hook, "pre-install", event, 1)+tt.in, strings.Replace(hook, "pre-install", event, 1)+tt.want
				r := rendered(t, template(job(in)))
				if len(r.Hooks) != 1 || r.Hooks[0].Manifest != job(want) || r.Manifest != "" {
					t.Errorf("%s: got %s, and %q", event, manifestsOf(r.Hooks), r.Manifest)
				}
			}
			// Helm drops a hook with an unknown event.
			if r := rendered(t, template(job(strings.Replace(hook, "pre-install", "sometimes", 1)+tt.in))); len(r.Hooks) > 0 || r.Manifest != "" {
				t.Errorf("got %+v, and %q", r.Hooks, r.Manifest)
			}
		})
	}
}

func manifestsOf(hooks []*release.Hook) string {
	var text string
	for _, h := range hooks {
		text += h.Manifest + "\n"
	}
	return text
}

// TestCanonicalFormOfOtherHooks checks hooks whose annotations are not in a block mapping of
// their own.
func TestCanonicalFormOfOtherHooks(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{
			"a flow mapping", "kind: Job\nmetadata: {name: j, annotations: {helm.sh/layer: [a], helm.sh/hook: test}}",
			"kind: Job\nmetadata: {name: j, annotations: {helm.sh/hook: test}}",
		},
		{
			"a list", "kind: List\nmetadata:\n  annotations: {helm.sh/hook: test}\nitems:\n- kind: Pod\n  metadata: {name: p, annotations: {helm.sh/layer: 5, a: b}}",
			"kind: List\nmetadata:\n  annotations: {helm.sh/hook: test}\nitems:\n- kind: Pod\n  metadata: {name: p, annotations: {a: b}}",
		},
		{
			"a key twice", "kind: Job\nmetadata:\n  name: j\n  annotations:\n    helm.sh/hook: test\n    helm.sh/depends-on/layers: [a]\n    helm.sh/depends-on/layers: b",
			"kind: Job\nmetadata:\n  name: j\n  annotations:\n    helm.sh/hook: test",
		},
		{
			"merged annotations", "kind: Job\nmetadata:\n  name: j\n  annotations:\n    <<: &more {helm.sh/hook: test}\n    helm.sh/layer: 5",
			"kind: Job\nmetadata:\n  name: j\n  annotations:\n    <<: &more {helm.sh/hook: test}",
		},
	} {
		r := rendered(t, template(tt.in))
		if len(r.Hooks) != 1 || strings.TrimSpace(r.Hooks[0].Manifest) != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, manifestsOf(r.Hooks), tt.want)
		}
	}
}

// TestInvalidAnnotations checks that errors name the file, the resource, the key and the
// value.
func TestInvalidAnnotations(t *testing.T) {
	const prefix = "shop/templates/x.yaml: Job/j: "
	tests := []struct{ name, in, want string }{
		{"a number", job("        helm.sh/layer: 5"), prefix + "helm.sh/layer: 5: the name of a layer must be a string, not a number or boolean: quote it"},
		{"a number as it was written", job("        helm.sh/layer: 0x10"), prefix + "helm.sh/layer: 0x10: the name of a layer must be a string"},
		{"a boolean", job("        helm.sh/resource-group: true"), prefix + "helm.sh/resource-group: true: the name of a layer must be a string"},
		{"a boolean of YAML 1.1", job("        helm.sh/layer: on"), prefix + "helm.sh/layer: on: the name of a layer must be a string"},
		{"a list of layers", job("        helm.sh/layer: [a, b]"), prefix + `helm.sh/layer: ["a","b"]: a resource belongs to one layer`},
		{"a map", job("        helm.sh/layer: {a: b}"), prefix + `helm.sh/layer: {"a":"b"}: the name of a layer must be a string`},
		{"a timeout that is a number", job("        helm.sh/readiness-timeout: 30"), prefix + `helm.sh/readiness-timeout: 30: must be a duration: a quoted number with a unit`},
		{"a list that is a number", job("        helm.sh/depends-on/layers: 5"), prefix + "helm.sh/depends-on/layers: 5: must be a list of strings, not a number or boolean"},
		{"a list that is a boolean", job("        helm.sh/readiness-success: no"), prefix + "helm.sh/readiness-success: no: must be a list of strings, not a number or boolean"},
		{"a list of numbers", job("        helm.sh/depends-on/layers: [a, 5]"), prefix + `helm.sh/depends-on/layers: ["a",5]: item 5 must be a string: quote it`},
		{"a list under one key twice", job("        helm.sh/depends-on/layers: [a]\n        helm.sh/depends-on/layers: b"), prefix + `helm.sh/depends-on/layers: "b": the key is defined twice: combine the values in one list`},
		{"a list of lists", job("        depends-on.helm.sh/layers: [[a]]"), prefix + `depends-on.helm.sh/layers: [["a"]]: must be a list of strings, not a list of lists`},
		{"a list that is a map", job("        helm.sh/readiness-failure: {a: b}"), prefix + `helm.sh/readiness-failure: {"a":"b"}: must be a list of strings, not a map`},
		{"two spellings, one malformed", job("        helm.sh/depends-on/layers: [a]\n        depends-on.helm.sh/layers: '[b'"), prefix + `depends-on.helm.sh/layers: "[b": a value that begins with "["`},
		{"an item of a list", "kind: List\nitems:\n- kind: Job\n  metadata: {name: j, annotations: {helm.sh/layer: 1}}", prefix + "helm.sh/layer: 1: the name of a layer must be a string"},
		{"the hook mode, as a proposal once shows it", "kind: Pod\nmetadata:\n  name: example\n  runHooksInParallel: true", "shop/templates/x.yaml: Pod/example: metadata.runHooksInParallel: true: has no effect in a template: move runHooksInParallel into Chart.yaml"},
		{"the hook mode in a hook", "kind: Pod\nmetadata:\n  name: example\n  annotations: {helm.sh/hook: test}\n  runHooksInParallel: otherChartsOnly", `Pod/example: metadata.runHooksInParallel: "otherChartsOnly": has no effect`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := prepare(t, template("# first\n---\n"+tt.in)).render()
			var value *annotation.ValueError
			if !errors.As(err, &value) || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v\nwant %s", err, tt.want)
			}
			if !strings.Contains(r.Manifest, tt.in) {
				t.Errorf("what was rendered is not there for debugging:\n%s", r.Manifest)
			}
		})
	}
}

// TestAliasExpansionIsLimited checks that aliases that expand to a large document are
// rejected before Helm's parser expands them.
func TestAliasExpansionIsLimited(t *testing.T) {
	text := "kind: A\nmetadata: {name: a}\na: &a " + strings.Repeat("x", 100_000) + "\nb: [" + strings.Repeat("*a,", 200) + "]\n"
	for name, more := range map[string]string{"plain": "", "with an order": "# helm.sh/layer\n"} {
		_, err := prepare(t, template("kind: B\n---\n"+text+more)).render()
		var aliases *yamledit.AliasExpansionError
		if !errors.As(err, &aliases) || !strings.HasPrefix(err.Error(), "shop/templates/x.yaml: its aliases expand to more than 16 MiB") {
			t.Errorf("%s: got %.300v", name, err)
		}
	}
}

// TestAnAnchorThatContainsItself checks that a recursive anchor does not cause an infinite
// loop.
func TestAnAnchorThatContainsItself(t *testing.T) {
	for _, text := range []string{
		"kind: List\nitems: &self\n- {kind: A, metadata: {name: a, annotations: {helm.sh/layer: x}}, items: *self}",
		"kind: A\nmetadata: &self {name: a, annotations: *self}\n# helm.sh/layer",
		"kind: A\nmetadata: {name: a, annotations: &self {<<: *self, helm.sh/layer: x}}",
	} {
		if _, err := prepare(t, template(text)).render(); err == nil {
			t.Errorf("Helm's parser accepts %s", text)
		}
	}
}

// TestNestingDepthIsLimited checks that everything that reads a chart rejects very deep
// nesting without a stack overflow.
func TestNestingDepthIsLimited(t *testing.T) {
	const want = "exceeded max depth of 10000"
	for name, deep := range map[string]string{
		"lists": strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), "maps": strings.Repeat("{a: ", 20_000) + strings.Repeat("}", 20_000),
	} {
		for file, text := range map[string]string{
			"values.yaml": "a: " + deep, "Chart.yaml": chartYAML("shop", "annotations:\n  helm.sh/depends-on/subcharts: "+deep),
			"charts/sub/Chart.yaml": chartYAML("sub", "dependencies:\n- name: a\n  depends-on: "+deep),
		} {
			if _, err := chartloader.LoadFiles(tree{file: text}.buffered()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s in %s: got %.300v", name, file, err)
			}
		}
		for _, key := range []string{"helm.sh/layer", "helm.sh/depends-on/layers", "other"} {
			_, err := prepare(t, template("kind: A\nmetadata:\n  annotations:\n    helm.sh/layer: a\n    "+key+": "+deep)).render()
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "shop/templates/x.yaml") {
				t.Errorf("%s under %s: got %.300v", name, key, err)
			}
		}
		if _, err := render.Resources("# Source: shop/templates/x.yaml\nkind: A\na: "+deep, nil, prepare(t, template("")).root, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s in a stored manifest: got %.300v", name, err)
		}
	}
}
