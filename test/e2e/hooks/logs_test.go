// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/fault"
	"github.com/ordered-helm/helm/test/harness"
)

// cutLog is a log without a final newline, which cutLogs returns for the pods of the hook
// "cut".
const cutLog = "cut begins\ncut ends"

// cutLogs makes helm read logs through a proxy, which replaces the log of the hook "cut" by
// cutLog.
func cutLogs(tb testing.TB, h *harness.Helm) {
	tb.Helper()
	h.UseProxy(tb).Intercept(func(w http.ResponseWriter, _ *http.Request, what fault.Request) bool {
		isCut := what.Subresource == "log" && strings.HasPrefix(what.Name, "b-cut-")
		if isCut {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(w, cutLog) // errors are ignored because the client may have gone
		}
		return isCut
	})
}

// logHooks returns hooks with different logs: of two containers, without a final newline, of a
// Pod, empty, and a default one.
func logHooks(event, policy string) []charts.Object {
	return []charts.Object{
		{Kind: "Job", Name: "a-two", Hook: event, LogPolicy: policy, Containers: []string{"one", "two"}, PodAnnotations: []string{`devcluster/log.one: "one a\none b"`, `devcluster/log.two: "two a\n\ntwo c"`}},
		{Kind: "Job", Name: "b-cut", Hook: event, LogPolicy: policy},
		{Kind: "Pod", Name: "c-pod", Hook: event, LogPolicy: policy, PodAnnotations: []string{`devcluster/log: "pod a\n  pod b"`}},
		{Kind: "Job", Name: "d-empty", Hook: event, LogPolicy: policy, PodAnnotations: []string{`devcluster/log: ""`}},
		{Kind: "Job", Name: "e-plain", Hook: event, LogPolicy: policy},
	}
}

// TestLogsOfParallelHooks checks that the logs of hooks that run in parallel are printed
// completely and not interleaved, and that each line has the name of the hook as a prefix.
func TestLogsOfParallelHooks(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	cutLogs(t, h)
	hooks := logHooks("pre-install", "hook-succeeded")
	want := map[string][]string{
		"Job/a-two one": {"one a", "one b"}, "Job/a-two two": {"two a", "", "two c"}, "Job/b-cut c": {"cut begins", "cut ends"},
		"Pod/c-pod c": {"pod a", "  pod b"}, "Job/e-plain c": {"e-plain begins", "e-plain ends"},
	}
	for i := range 12 {
		name := fmt.Sprintf("many-%02d", i)
		var lines []string
		for j := range 30 {
			lines = append(lines, fmt.Sprintf("%s says %d", name, j))
		}
		hooks = append(hooks, charts.Object{Kind: "Job", Name: name, Hook: "pre-install", LogPolicy: "hook-succeeded,hook-failed", DeletePolicy: "hook-succeeded",
			PodAnnotations: []string{fmt.Sprintf("devcluster/log: %q", strings.Join(lines, "\n"))}})
		want["Job/"+name+" c"] = lines
	}
	// The logs of these hooks are not printed: one has no log policy, and the policy of the
	// other applies only if the hook fails.
	hooks = append(hooks, charts.Object{Kind: "Job", Name: "silent", Hook: "pre-install"}, charts.Object{Kind: "Job", Name: "well", Hook: "pre-install", LogPolicy: "hook-failed"})
	r := h.MustRun("install", "rel", writeHooked(t, charts.Chart{Name: "app", HookMode: "true", Objects: hooks}), "--progress=none")

	got, order := map[string][]string{}, []string{}
	for _, line := range strings.Split(strings.TrimSuffix(r.Stderr, "\n"), "\n") {
		match := logPrefix.FindStringSubmatch(line)
		if match == nil {
			t.Errorf("a line does not say whose it is: %q", line)
			continue
		}
		key := match[1] + " " + match[4]
		got[key] = append(got[key], match[5])
		if len(order) == 0 || order[len(order)-1] != key {
			order = append(order, key)
		}
	}
	if unique := slices.Compact(slices.Sorted(slices.Values(order))); len(unique) != len(order) {
		t.Errorf("logs are torn: %s", order)
	}
	for key, lines := range want {
		if !slices.Equal(got[key], lines) {
			t.Errorf("of %s this was printed: %q, want %q", key, got[key], lines)
		}
	}
	if len(got) != len(want) {
		t.Errorf("logs were printed of %s", order)
	}
	if strings.Contains(r.Stdout, " says ") {
		t.Errorf("logs are among the results:\n%s", r.Stdout)
	}
}

// TestHookLogsMatchStockHelm checks that the printed logs of a chart without
// runHooksInParallel are the same as with stock Helm, byte for byte. A warning of client-go is
// ignored, because it depends on timing whether stock Helm prints it.
func TestHookLogsMatchStockHelm(t *testing.T) {
	t.Parallel()
	watchWarning := regexp.MustCompile(`(?m)^I\d{4} .* reflector\.go:\d+\] "Warning: watch ended with error" .*context canceled.*\n`)
	random := regexp.MustCompile(`(a-two|b-cut|d-empty|e-plain|f-bad)-[a-z0-9]{5}\b`)
	for name, policy := range map[string]string{"all succeed": "hook-succeeded", "the last fails": "hook-failed,hook-succeeded"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hooks := logHooks("pre-install", policy)
			code := 0
			if name != "all succeed" {
				hooks = append(hooks, charts.Object{Kind: "Job", Name: "f-bad", Hook: "pre-install", LogPolicy: policy, PodAnnotations: failing})
				code = 1
			}
			chart := writeHooked(t, charts.Chart{Name: "app", Objects: hooks}, charts.Chart{Name: "sub", HookMode: "false", Objects: []charts.Object{
				{Name: "b-between", Hook: "pre-install", LogPolicy: policy, Containers: []string{"one"}, Kind: "Pod"},
			}})
			var said [2]string
			for i := range said {
				h := harness.New(t)
				cutLogs(t, h)
				run := func(args ...string) harness.Result { return h.Run(append(args, "--progress=none")...) }
				if i == 1 {
					run = func(args ...string) harness.Result { return h.RunStock(t, args...) }
				}
				r := run("install", "rel", chart)
				if r.ExitCode != code {
					t.Errorf("exit code %d\n%s", r.ExitCode, r.Stderr)
				}
				said[i] = watchWarning.ReplaceAllString(r.Stderr, "")
				said[i] = random.ReplaceAllString(strings.ReplaceAll(said[i], h.Namespace, "NAMESPACE"), "$1-POD")
			}
			if code == 0 && said[0] != said[1] || !strings.HasPrefix(said[0], strings.TrimSuffix(said[1], "\n")) {
				t.Errorf("ours says\n%s\nstock Helm says\n%s", said[0], said[1])
			}
			if code == 0 {
				harness.ExpectContains(t, said[0], cutLog, "one a\none b\ntwo a\n\ntwo c\n")
			}
		})
	}
}
