// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/harness"
)

// printing returns a script that prints the names of the events of an operation on a release, with the
// text.
func printing(text string) string {
	var b strings.Builder
	for _, event := range []string{
		"chart-loaded", "pre-render", "post-render", "pre-validate", "post-validate", "pre-install", "post-install", "pre-upgrade", "post-upgrade",
		"pre-rollback", "post-rollback", "pre-delete", "post-delete", "ready",
	} {
		b.WriteString(handler(event, `println("handles `+event+` `+text+`")`))
	}
	b.WriteString(handler("wait", `println("handles wait `+text+`") return true`))
	return b.String()
}

// handled returns the events that scripts have printed as progress, without repetitions, and the text that they
// print.
func handled(stderr string) (events []string, texts string) {
	for line := range strings.Lines(stderr) {
		if found, is := strings.CutPrefix(line, "app: handles "); is {
			event, text, _ := strings.Cut(strings.TrimSpace(found), " ")
			if len(events) == 0 || events[len(events)-1] != event {
				events = append(events, event)
			}
			if !strings.Contains(texts, text) {
				texts += text
			}
		}
	}
	return events, texts
}

// TestScriptEvents checks which scripts run in the operations on a release, and with which events: those of
// the revision to which a rollback returns, those of the last revision in an uninstall, and none in the
// rollback or uninstall of --atomic.
func TestScriptEvents(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	one, two := scriptChart(t, printing("of one"), nil), scriptChart(t, printing("of two"), nil)
	broken := scriptChart(t, printing("of broken")+handler("post-install", "error('no')")+handler("post-upgrade", "error('no')"), nil)
	const rendering = "chart-loaded pre-render post-render "
	for _, step := range []struct {
		args         []string
		fails        bool
		events, text string
	}{
		{[]string{"install", "rel", broken, "--atomic"}, true, rendering + "pre-validate post-validate pre-install wait ready post-install", "of broken"},
		{[]string{"install", "rel", one, "--dry-run"}, false, strings.TrimSpace(rendering), "of one"},
		{[]string{"install", "rel", one, "--wait"}, false, rendering + "pre-validate post-validate pre-install wait ready post-install", "of one"},
		{[]string{"upgrade", "rel", broken, "--atomic"}, true, rendering + "pre-validate post-validate pre-upgrade wait ready post-upgrade", "of broken"},
		{[]string{"upgrade", "rel", two}, false, rendering + "pre-validate post-validate pre-upgrade post-upgrade", "of two"},
		{[]string{"rollback", "rel", "1", "--wait"}, false, "pre-validate post-validate pre-rollback wait ready post-rollback", "of one"},
		{[]string{"rollback", "rel", "4", "--no-scripts"}, false, "", ""},
		{[]string{"uninstall", "rel"}, false, "pre-delete post-delete", "of two"},
	} {
		r := h.Run(step.args...)
		events, text := handled(r.Stderr)
		if got := strings.Join(events, " "); got != step.events || text != step.text || (r.ExitCode != 0) != step.fails {
			t.Errorf("helm %s: exit code %d, got the events %q %q, want %q %q\n%s", strings.Join(step.args, " "), r.ExitCode, got, text, step.events, step.text, r.Stderr)
		}
	}
	h.ExpectEmptyNamespace(t)
}

// TestScriptChanges checks that only the events of rendering change something, that changed values are not
// stored, and that a handler that fails before the hooks prevents them.
func TestScriptChanges(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	var ignored strings.Builder
	for _, event := range []string{"pre-validate", "post-validate", "pre-install", "pre-upgrade"} {
		ignored.WriteString(handler(event, `for i = #manifest, 1, -1 do manifest[i].metadata.name = "changed" table.remove(manifest) end values.count = 9`))
	}
	chart := scriptChart(t, ignored.String()+handler("pre-render", "values.count = values.count + 1 if values.global then values.global.region = 'changed' end")+
		handler("pre-upgrade", "if values.fails then error('before the hooks') end"), map[string]string{
		"values.yaml":         "count: 1\nglobal: {region: north}\n",
		"templates/app.yaml":  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {count: {{ quote .Values.count }}}\n",
		"templates/hook.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hook, annotations: {helm.sh/hook: pre-upgrade}}\n",
	})
	h.MustRun("install", "rel", chart, "--set", "other=1")
	h.MustRun("upgrade", "rel", chart, "--reuse-values")
	if data, _ := h.Get(t, "ConfigMap/app").Object["data"].(map[string]any); data["count"] != "2" {
		t.Errorf("the count is %v", data["count"])
	}
	for _, all := range []string{"", "--all"} {
		values := h.MustRun(slices.DeleteFunc([]string{"get", "values", "rel", all}, func(arg string) bool { return arg == "" })...).Stdout
		if strings.Contains(values, "changed") || strings.Contains(values, "count: 2") || !strings.Contains(values, "other: 1") {
			t.Errorf("the values are\n%s", values)
		}
	}
	h.ExpectObjects(t, "rel", "ConfigMap/app")
	h.Delete(t, "ConfigMap/hook")
	h.ExpectFailure(t, []string{"upgrade", "rel", chart, "--set", "fails=true"}, "UPGRADE FAILED: a handler of pre-upgrade failed", "before the hooks")
	h.ExpectStatuses(t, "rel", "superseded deployed failed")
	h.MustRun("uninstall", "rel", "--no-scripts")
	h.ExpectEmptyNamespace(t) // the hook was not created
}
