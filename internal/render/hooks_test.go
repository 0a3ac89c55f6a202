// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/hookorder"
	"github.com/ordered-helm/helm/internal/render"
)

// hook returns a document with the annotation helm.sh/hook. Its other parts are written in
// an unusual way, to show that they remain unchanged.
func hook(kind, name, events, more string) string {
	return "# about it\nkind: " + kind + "   # a kind\napiVersion: \"x/v1\"\nmetadata:\n    annotations:\n        helm.sh/hook: " +
		events + more + "\n    name:  " + name + "\nspec: {n: 0x10, \"on\": [ 1,2 ]}"
}

const crd = "CustomResourceDefinition"

// literalTemplate returns a template that renders to the given text.
func literalTemplate(text string) string { return "{{ " + strconv.Quote(text) + " }}" }

// inFiles returns a chart with templates that render to the given texts. The keys are the
// names of the templates.
func inFiles(files map[string]string) tree {
	t := tree{}
	for name, text := range files {
		t["templates/"+name] = literalTemplate(text)
	}
	return t
}

// asCRDInstall and asTestFailure match the legacy events: those that only Helm 2 supports.
var (
	asCRDInstall  = regexp.MustCompile(`(?i)crd-install`)
	asTestFailure = regexp.MustCompile(`(?i)test-failure`)
)

// withSupportedEvents replaces each legacy event with an event that Helm supports.
func withSupportedEvents(text string) string {
	text = asCRDInstall.ReplaceAllString(text, string(release.HookPreRollback))
	return asTestFailure.ReplaceAllString(text, string(release.HookPostRollback))
}

// expected sorts the files with Helm's own code, with supported events instead of legacy
// events, and puts the original documents and events into the result.
func expected(t *testing.T, files map[string]string) ([]*release.Hook, []releaseutil.Manifest) {
	t.Helper()
	known, originals := map[string]string{}, map[string]string{}
	for name, text := range files {
		known["shop/templates/"+name] = withSupportedEvents(text)
		for _, doc := range render.Split(text) {
			if other, ok := originals[withSupportedEvents(doc)]; ok && other != doc {
				t.Fatalf("two documents are the same but for the spelling of the event:\n%s", doc)
			}
			originals[withSupportedEvents(doc)] = doc
		}
	}
	hooks, manifests, err := releaseutil.SortManifests(known, nil, releaseutil.InstallOrder)
	if err != nil {
		t.Fatal(err)
	}
	for i := range manifests {
		manifests[i].Content = originals[manifests[i].Content]
	}
	for _, h := range hooks {
		h.Manifest = originals[h.Manifest]
		for i, event := range h.Events {
			switch event {
			case release.HookPreRollback:
				h.Events[i] = hookorder.EventCRDInstall
			case release.HookPostRollback:
				h.Events[i] = hookorder.EventTestFailure
			}
		}
	}
	return hooks, manifests
}

// TestOlderHooks compares the result with that of Helm's sorting for the same documents
// with events that Helm supports.
func TestOlderHooks(t *testing.T) {
	const policies = "\n        helm.sh/hook-weight: \"-5\"\n        helm.sh/hook-delete-policy: Hook-Succeeded, before-hook-creation\n        helm.sh/hook-output-log-policy: hook-failed"
	equal := hook("Job", "same", "test-failure", policies)
	tests := []struct {
		name  string
		files map[string]string
		want  []string // name and events
	}{
		{"crd-install", map[string]string{"x": hook(crd, "c", "crd-install", "")}, []string{"c [crd-install]"}},
		{"test-failure", map[string]string{"x": hook("Pod", "p", "test-failure", "")}, []string{"p [test-failure]"}},
		{"weight and policies", map[string]string{"x": hook("Job", "j", "test-failure", policies)}, []string{"j [test-failure]"}},
		{"beside other events, in their order", map[string]string{"x": hook(crd, "c", "post-delete,crd-install,pre-install", "")}, []string{"c [post-delete crd-install pre-install]"}},
		{"listed twice", map[string]string{"x": hook("Job", "j", "'test-failure, post-install,test-failure'", "")}, []string{"j [test-failure post-install test-failure]"}},
		{"both", map[string]string{"x": hook(crd, "c", "test-failure,crd-install", "")}, []string{"c [test-failure crd-install]"}},
		{"another name of test beside crd-install", map[string]string{"x": hook(crd, "c", "test-success,crd-install", "")}, []string{"c [test crd-install]"}},
		{"in capitals, with space around", map[string]string{"x": hook(crd, "c", "\" CRD-Install\\t,Pre-Install \"", "")}, []string{"c [crd-install pre-install]"}},
		{"over two lines", map[string]string{"x": hook(crd, "c", "pre-install,\n          crd-install", "")}, []string{"c [pre-install crd-install]"}},
		{"JSON", map[string]string{"x": `{"kind":"Pod","metadata":{"name":"p","annotations":{"helm.sh/hook":"test-failure","helm.sh/hook-weight":"3"}}}`}, []string{"p [test-failure]"}},
		{"annotations that are merged in", map[string]string{"x": "x: &a {helm.sh/hook: test-failure, helm.sh/hook-weight: '3'}\nkind: Pod\nmetadata: {name: p, annotations: {<<: *a}}"}, []string{"p [test-failure]"}},
		{"an alias", map[string]string{"x": "x: &a test-failure\nkind: Pod\nmetadata: {name: p, annotations: {helm.sh/hook: *a}}"}, []string{"p [test-failure]"}},
		{"fields in capitals", map[string]string{"x": "Kind: Pod\nMetadata: {Name: p, Annotations: {helm.sh/hook: test-failure}}"}, []string{"p [test-failure]"}},
		{"a weight that is a number", map[string]string{"x": hook("Pod", "p", "test-failure", "\n        helm.sh/hook-weight: 7")}, []string{"p [test-failure]"}},
		{"a weight that is none", map[string]string{"x": hook("Pod", "p", "test-failure", "\n        helm.sh/hook-weight: soon")}, []string{"p [test-failure]"}},
		{"an empty policy", map[string]string{"x": hook("Pod", "p", "test-failure", "\n        helm.sh/hook-delete-policy:")}, []string{"p [test-failure]"}},
		{"no name", map[string]string{"x": "kind: Pod\nmetadata: {annotations: {helm.sh/hook: test-failure}}"}, []string{" [test-failure]"}},
		{"no kind", map[string]string{"x": "metadata: {name: p, annotations: {helm.sh/hook: test-failure}}"}, []string{"p [test-failure]"}},
		{
			"characters that YAML folds or refuses",
			map[string]string{"x": "kind: \"K\\x7f\\x85é\"\nmetadata: {name: \"a\\x85b\\u2028\\U0001F600<\\x07'\\\"\\n---\\n\", annotations: {helm.sh/hook: test-failure, helm.sh/hook-delete-policy: \"x\\x85y\"}}"},
			[]string{"a\u0085b\u2028😀<\a'\"\n---\n [test-failure]"},
		},
		{
			"documents that are equal",
			map[string]string{"a": equal + "\n---\n" + equal, "b": equal},
			[]string{"same [test-failure]", "same [test-failure]", "same [test-failure]"},
		},
		{
			"documents that differ in what Helm does not read",
			map[string]string{"x": equal + "\n---\n" + equal + " # b\n---\n" + equal + " # c"},
			[]string{"same [test-failure]", "same [test-failure]", "same [test-failure]"},
		},
		{
			"by kind, then by file, then as in the file",
			map[string]string{
				"b": "---\n" + hook("Job", "b1", "test-failure", "") + "\n\n--- # x\n" + hook("Pod", "b2", "test-failure", "\n        helm.sh/hook-weight: '9'") +
					"\n---\nkind: Service\nmetadata: {name: s}\n---\n" + hook("Job", "b3", "pre-install", "") + "\n---\n" + hook(crd, "b4", "crd-install", "") + "\n---\n",
				"a": hook("Widget", "a1", "test-failure", "") + "\r\n---\r\n" + hook("Job", "a2", "test", "") + "\n---\n# no document\n---\n" + hook("Job", "a3", "test-failure", ""),
				"c": hook(crd, "c1", "pre-install", "") + "\n---\nkind: A\nmetadata: {name: a, annotations: {b: crd-install, c: helm.sh/hook}}",
			},
			[]string{
				"b4 [crd-install]", "c1 [pre-install]", "b2 [test-failure]", "a2 [test]", "a3 [test-failure]",
				"b1 [test-failure]", "b3 [pre-install]", "a1 [test-failure]",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := rendered(t, inFiles(tt.files))
			hooks, manifests := expected(t, tt.files)
			compare(t, r, hooks, manifests)
			var got []string
			for _, h := range r.Hooks {
				got = append(got, fmt.Sprintf("%s %s", h.Name, h.Events))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestEveryEventBesideAnOlderOne checks that other events in the same annotation are read
// as in Helm.
func TestEveryEventBesideAnOlderOne(t *testing.T) {
	for _, event := range []string{
		"pre-install", "post-install", "pre-upgrade", "post-upgrade", "pre-rollback", "post-rollback",
		"pre-delete", "post-delete", "test", "test-success",
	} {
		t.Run(event, func(t *testing.T) {
			file := map[string]string{"x": hook(crd, "c", event, "")}
			known, _, err := releaseutil.SortManifests(file, nil, releaseutil.InstallOrder)
			if err != nil || len(known) != 1 {
				t.Fatalf("Helm gives %v, %v", known, err)
			}
			r := rendered(t, inFiles(map[string]string{"x": hook(crd, "c", "crd-install,"+event, "")}))
			want := []release.HookEvent{hookorder.EventCRDInstall, known[0].Events[0]}
			if len(r.Hooks) != 1 || !slices.Equal(r.Hooks[0].Events, want) {
				t.Errorf("got %+v, want %v", r.Hooks, want)
			}
		})
	}
}

// compare reports where the hooks and manifests differ from those of Helm's own code.
func compare(t *testing.T, r *render.Result, hooks []*release.Hook, manifests []releaseutil.Manifest) {
	t.Helper()
	if len(r.Hooks) != len(hooks) || len(r.Files) != len(manifests) {
		t.Fatalf("%d hooks and %d documents, want %d and %d", len(r.Hooks), len(r.Files), len(hooks), len(manifests))
	}
	for i, h := range r.Hooks {
		if !reflect.DeepEqual(h, hooks[i]) {
			t.Errorf("hook %d:\n%+v\nwant:\n%+v", i, h, hooks[i])
		}
	}
	for i, f := range r.Files {
		if f.Name != manifests[i].Name || f.Content != manifests[i].Content {
			t.Errorf("document %d:\n%+v\nwant:\n%+v", i, f, manifests[i])
		}
	}
}

// logged returns what f writes to the standard logger.
func logged(t *testing.T, f func()) string {
	t.Helper()
	var b bytes.Buffer
	out, flags := log.Writer(), log.Flags()
	t.Cleanup(func() {
		log.SetOutput(out)
		log.SetFlags(flags)
	})
	log.SetOutput(&b)
	log.SetFlags(0)
	f()
	return b.String()
}

// TestWhatIsNoOlderHook checks that other hooks are treated as in Helm, including its log
// output.
func TestWhatIsNoOlderHook(t *testing.T) {
	const badTimeout = "\n        helm.sh/hook-delete-timeout: soon"
	tests := []struct{ name, in string }{
		{"hooks of today", hook("Job", "a", "pre-install,test-success", "") + "\n---\n" + hook("Job", "b", "Test", "")},
		{"hooks of today that say how long to wait", hook("Job", "a", "pre-install", "\n        helm.sh/hook-delete-timeout: '5'")},
		{"the same words elsewhere", "kind: ConfigMap\nmetadata: {name: c, labels: {helm.sh/hook: crd-install}}\ndata: {x: test-failure}\n---\n" + hook("Job", "test-failure", "pre-install", " # crd-install")},
		{"an unknown event before", hook(crd, "c", "soon,crd-install", "")},
		{"an unknown event after", hook("Job", "c", "\"test-failure , Soon\"", "")},
		{"a comma at the end", hook("Job", "j", "'test-failure,'", "")},
		{"no event", hook("Job", "j", "''", badTimeout) + "\n---\n" + hook("Job", "j", "", badTimeout+" # test-failure")},
		{"dropped: no definition", hook("Job", "j", "crd-install,soon", "")},
		{"dropped: success and failure", hook("Job", "j", "test,test-failure,soon", "")},
		{"dropped: a bad timeout", hook("Job", "j", "soon", badTimeout)},
		{"a bad timeout of what is no hook", "kind: Job\nmetadata: {name: j, annotations: {helm.sh/hook-delete-timeout: soon}}"},
		{"no metadata", "kind: Job\n# helm.sh/hook: test-failure"},
		{"nothing but a comment", "# helm.sh/hook: test-failure"},
		{"dropped beside one that is not", hook("Job", "a", "pre-install", "") + "\n---\n" + hook("Job", "b", "test-failure,soon", "")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var hooks []*release.Hook
			var manifests []releaseutil.Manifest
			want := logged(t, func() {
				var err error
				hooks, manifests, err = releaseutil.SortManifests(map[string]string{"shop/templates/x": tt.in}, nil, releaseutil.InstallOrder)
				if err != nil {
					t.Fatal(err)
				}
			})
			got := logged(t, func() { compare(t, rendered(t, inFiles(map[string]string{"x": tt.in})), hooks, manifests) })
			if got != want {
				t.Errorf("logged %q, want %q", got, want)
			}
		})
	}
}

// TestHookErrors checks that errors name the file, the resource, the key, the value and a
// correction.
func TestHookErrors(t *testing.T) {
	const noDefinition = "crd-install is only for a CustomResourceDefinition: use pre-install for other kinds"
	const bothWays = "a test cannot be expected to both succeed and fail: use either test or test-failure, or two tests"
	const notWhole = `must be a whole number of seconds without a unit, such as "30", or "0" to not wait`
	const timeout = "\n        helm.sh/hook-delete-timeout: "
	tests := []struct{ name, in, want string }{
		{"crd-install of a Job", hook("Job", "j", "crd-install", ""), `Job/j: helm.sh/hook: "crd-install": ` + noDefinition},
		{"as it was written", hook("Job", "j", "\" CRD-install,pre-install\"", ""), `Job/j: helm.sh/hook: " CRD-install,pre-install": ` + noDefinition},
		{"crd-install of a list", "kind: List\nmetadata: {name: l, annotations: {helm.sh/hook: crd-install}}", `List/l: helm.sh/hook: "crd-install": ` + noDefinition},
		{"crd-install of no kind", "metadata: {name: l, annotations: {helm.sh/hook: crd-install}}", `/l: helm.sh/hook: "crd-install": ` + noDefinition},
		{"test-failure and test", hook("Job", "j", "test-failure,test", ""), `Job/j: helm.sh/hook: "test-failure,test": ` + bothWays},
		{"test-failure and test-success", hook("Pod", "p", "test-success,pre-install,Test-Failure", ""), `Pod/p: helm.sh/hook: "test-success,pre-install,Test-Failure": ` + bothWays},
		{"a timeout with a unit", hook("Job", "j", "pre-install", timeout+"30s"), `Job/j: helm.sh/hook-delete-timeout: "30s": ` + notWhole},
		{"a timeout that is a fraction", hook("Job", "j", "pre-install", timeout+"0.5"), `Job/j: helm.sh/hook-delete-timeout: "0.5": ` + notWhole},
		{"an empty timeout", hook("Job", "j", "pre-install", timeout), `Job/j: helm.sh/hook-delete-timeout: "": must be a number of seconds; omit the annotation`},
		{"another policy", hook("Job", "j", "pre-install", "\n        helm.sh/hook-policy: keep"), `Job/j: helm.sh/hook-policy: "keep": must be "managed" or "unmanaged"`},
		{"a timeout of an older hook", hook(crd, "c", "crd-install", timeout+"-1"), `CustomResourceDefinition/c: helm.sh/hook-delete-timeout: "-1": ` + notWhole},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string]string{"x": hook("Job", "first", "test-failure", "") + "\n---\n" + tt.in, "z": hook("Job", "z", "crd-install", "")}
			r, err := prepare(t, inFiles(files)).render()
			var value *annotation.ValueError
			if want := "shop/templates/x: " + tt.want; !errors.As(err, &value) || !strings.HasPrefix(err.Error(), want) {
				t.Fatalf("got %v\nwant %s", err, want)
			}
			if !strings.Contains(r.Manifest, files["x"]) {
				t.Errorf("what was rendered is not there for debugging:\n%s", r.Manifest)
			}
		})
	}
}

// TestOlderHooksBesideWhatDoesNotParse checks that the error is Helm's, and that the
// rendered documents are returned for debugging.
func TestOlderHooksBesideWhatDoesNotParse(t *testing.T) {
	for _, broken := range []string{"kind: [", hook("Job", "j", "[test-failure]", "")} {
		in := hook("Job", "first", "test-failure", "") + "\n---\n" + broken
		var r *render.Result
		var err, want error
		logged(t, func() {
			_, _, want = releaseutil.SortManifests(map[string]string{"shop/templates/x": in}, nil, releaseutil.InstallOrder)
			r, err = prepare(t, inFiles(map[string]string{"x": in})).render()
		})
		if err == nil || want == nil || err.Error() != want.Error() {
			t.Errorf("got %v, want %v", err, want)
		}
		if !strings.Contains(r.Manifest, in) {
			t.Errorf("what was rendered is not there for debugging:\n%s", r.Manifest)
		}
	}
}

// TestCanonicalFormOfOlderHooks checks that the annotations of hooks with legacy events are
// converted, too.
func TestCanonicalFormOfOlderHooks(t *testing.T) {
	in := hook("Job", "j", "test-failure", "\n        helm.sh/depends-on/layers: [a]")
	want := hook("Job", "j", "test-failure", "\n        depends-on.helm.sh/layers: '[\"a\"]'")
	if r := rendered(t, inFiles(map[string]string{"x": in})); len(r.Hooks) != 1 || r.Hooks[0].Manifest != want {
		t.Errorf("got %+v", r.Hooks)
	}
}

// FuzzOlderHooks checks, for any file, that hooks with legacy events are sorted like the
// same hooks with events that Helm supports.
func FuzzOlderHooks(f *testing.F) {
	f.Add(hook("Pod", "p", "test-failure", "") + "\n---\n" + hook(crd, "c", "crd-install, Pre-install", "") + "\n---\n" + hook("Job", "j", "soon", ""))
	f.Add(`{"kind":"Pod","metadata":{"name":"p","annotations":{"helm.sh/hook":"test-failure","helm.sh/hook-delete-policy":"a,b"}}}`)
	f.Add("kind: \"K\\x7f\\x85é\"\nmetadata: {name: \"a\\x85b\", annotations: {helm.sh/hook: test-failure}}")
	f.Add("x: &a {helm.sh/hook: test-failure}\nkind: Pod\nmetadata: {name: p, annotations: {<<: *a}}\n--- # c\n--- \n---\na")
	p := prepare(f, inFiles(map[string]string{"x": ""}))
	log.SetOutput(io.Discard)
	f.Cleanup(func() { log.SetOutput(os.Stderr) })
	f.Fuzz(func(t *testing.T, text string) {
		result := func(text string) (*render.Result, error) {
			p.chart.Templates[0].Data = []byte(literalTemplate(text))
			return p.render()
		}
		got, err := result(text)
		var value *annotation.ValueError
		if errors.As(err, &value) {
			return
		}
		want, wantErr := result(withSupportedEvents(text))
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%v, with events that are known %v", err, wantErr)
		}
		if err != nil {
			return
		}
		for _, h := range got.Hooks {
			if !slices.Contains(render.Split(text), h.Manifest) {
				t.Errorf("no document of the file: %q", h.Manifest)
			}
			if withSupportedEvents(h.Kind) != h.Kind {
				return // the order is different
			}
			h.Name, h.Manifest = withSupportedEvents(h.Name), withSupportedEvents(h.Manifest)
			for i, event := range h.Events {
				h.Events[i] = release.HookEvent(withSupportedEvents(string(event)))
			}
			for i, policy := range h.DeletePolicies {
				h.DeletePolicies[i] = release.HookDeletePolicy(withSupportedEvents(string(policy)))
			}
			for i, policy := range h.OutputLogPolicies {
				h.OutputLogPolicies[i] = release.HookOutputLogPolicy(withSupportedEvents(string(policy)))
			}
		}
		if !reflect.DeepEqual(got.Hooks, want.Hooks) || withSupportedEvents(got.Manifest) != want.Manifest {
			t.Errorf("got:\n%+v\nwant:\n%+v", got, want)
		}
	})
}
