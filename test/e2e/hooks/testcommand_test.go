// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// testChart writes a chart with the given tests, which are Jobs and Pods, with hooks of other
// events, and with an object that is not a hook.
func testChart(tb testing.TB, mode string, tests ...charts.Object) string {
	tb.Helper()
	hooks := []charts.Object{{Kind: "ConfigMap", Name: "zz-other", Hook: "post-upgrade"}, {Kind: "ConfigMap", Name: "aa-other", Hook: "pre-delete"}}
	for _, p := range tests {
		if p.Hook == "" {
			p.Hook = "test"
		}
		hooks = append(hooks, p)
	}
	return writeHooked(tb, charts.Chart{Name: "app", HookMode: mode, Objects: hooks, Templates: map[string]string{"own.yaml": charts.OwnConfigMap("1"), "NOTES.txt": "Have fun.\n"}})
}

// storedHooks returns the names of the hooks in the stored release, in their stored order.
func storedHooks(tb testing.TB, h *harness.Helm) []string {
	tb.Helper()
	var list []string
	for _, hook := range h.LastRevision(tb, "rel").Hooks {
		list = append(list, hook.Name)
	}
	return list
}

// testsRun returns the names of the tests that were run since h.Started, sorted.
func testsRun(tb testing.TB, h *harness.Helm) string {
	tb.Helper()
	var list []string
	for _, id := range h.ReadTrace(tb).Since(h.Started).WrittenByHelm("create") {
		_, name, _ := strings.Cut(id, "/")
		list = append(list, name)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// clockTimes matches the parts of the output of `helm test` that differ from run to run.
var clockTimes = regexp.MustCompile(`(LAST DEPLOYED|Last Started|Last Completed): .*`)

// TestFilteredTests checks that `helm test --filter` runs the same tests, prints the same
// output and stores the same hooks as stock Helm.
func TestFilteredTests(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"", "true"} {
		t.Run("mode "+mode, func(t *testing.T) {
			t.Parallel()
			ours, theirs := harness.New(t), harness.New(t)
			// ConfigMaps are used because stock Helm takes two seconds to delete a Job.
			const kind = "ConfigMap"
			chart := testChart(t, mode, charts.Object{Kind: kind, Name: "one"}, charts.Object{Kind: kind, Name: "two"},
				charts.Object{Kind: kind, Name: "three", Weight: -1}, charts.Object{Kind: kind, Name: "four", Weight: 2})
			for _, h := range []*harness.Helm{ours, theirs} {
				h.MustRun("install", "rel", chart)
			}
			order := storedHooks(t, ours)
			filters := []struct{ args, ran string }{
				{"", "four one three two"},
				{"--filter name=one,name=four", "four one"},
				{"--filter !name=one", "four three two"},
				{"--filter name=none", ""},
				{"--filter name=one --filter name=two", "one two"},
				{"--filter !name=one,!name=two", "four three"},
				{"--filter name=one,!name=one", ""},
				{"--filter name=one,!name=two", "one"},
				{"--filter name=aa-other", ""},
				{"--filter colour=blue", "four one three two"},
				{"--filter name=one --hide-notes", "one"},
			}
			if mode == "true" {
				filters = filters[:4]
			}
			for _, tt := range filters {
				args := append([]string{"test", "rel"}, strings.Fields(tt.args)...)
				ours.Started = harness.Now()
				r := ours.MustRun(args...)
				if ran := testsRun(t, ours); ran != tt.ran {
					t.Errorf("%q ran %q, want %q", tt.args, ran, tt.ran)
				}
				if got := storedHooks(t, ours); !slices.Equal(got, order) {
					t.Fatalf("after %q the stored hooks are %s, want %s", tt.args, got, order)
				}
				want := testSuites(theirs.MustRunStock(t, args...), theirs.Namespace)
				if got := testSuites(r.Stdout, ours.Namespace); !slices.Equal(got, want) {
					t.Errorf("%q prints\n%s\nstock Helm\n%s", tt.args, strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			}
		})
	}
}

// testSuites returns the test suites in an output of `helm test`, sorted, because stock Helm
// changes the order of the tests with every filter.
func testSuites(text, namespace string) []string {
	text = clockTimes.ReplaceAllString(strings.ReplaceAll(text, namespace, "NAMESPACE"), "$1")
	text = strings.ReplaceAll(text, "\nNOTES:", "\nTEST SUITE: NOTES:")
	parts := strings.Split(text, "\nTEST SUITE: ")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	slices.Sort(parts[1:])
	return parts
}

// TestKilledTestCommand checks that no hook is lost from the stored release if a `helm test
// --filter` is killed while a test runs. Stock Helm loses the hooks that the filter excludes.
func TestKilledTestCommand(t *testing.T) {
	t.Parallel()
	all := []string{"aa-other", "gated", "left-out", "zz-other"}
	for _, filter := range []string{"name=gated", "!name=left-out"} {
		t.Run(filter, func(t *testing.T) {
			t.Parallel()
			for i, path := range []string{binaries.Get(t).Helm, binaries.Get(t).Stock} {
				h := harness.New(t)
				h.MustRun("install", "rel", testChart(t, "", charts.Object{Kind: "Job", Name: "gated", Gate: slowGate}, charts.Object{Kind: "Job", Name: "left-out"}))
				order := storedHooks(t, h)
				p := h.StartBinary(t, path, h.Namespace, "test", "rel", "--filter", filter)
				awaitHookPhases(t, h, release.HookPhaseRunning, "Job/gated")
				awaitObjects(t, h, "Job/gated")
				p.Signal(t, syscall.SIGKILL)
				if r := p.Wait(t); r.ExitCode != -1 {
					t.Fatalf("it was not killed, but ended with %d", r.ExitCode)
				}
				got := storedHooks(t, h)
				if i == 1 {
					if slices.Equal(slices.Sorted(slices.Values(got)), all) {
						t.Skip("stock Helm has lost nothing")
					}
					t.Logf("of %s stock Helm has left %s", order, got)
					continue
				}
				if !slices.Equal(got, order) || !slices.Equal(slices.Sorted(slices.Values(got)), all) {
					t.Errorf("the stored hooks are %s, and were %s", got, order)
				}
				h.OpenGates(t, slowGate)
				h.MustRun("test", "rel")
				if runs := storedRuns(t, h); runs["Job/left-out"].Phase != release.HookPhaseSucceeded || runs["Job/gated"].Phase != release.HookPhaseSucceeded {
					t.Errorf("the tests are recorded as %+v", runs)
				}
			}
		})
	}
}

// TestLogsOfTests checks that `helm test --logs` prints the logs of Pods, as stock Helm does,
// and also those of Jobs.
func TestLogsOfTests(t *testing.T) {
	t.Parallel()
	pods := []charts.Object{{Kind: "Pod", Name: "b-pod"}, {Kind: "Pod", Name: "a-pod", Weight: 1}, {Kind: "Pod", Name: "c-pod", DeletePolicy: "hook-failed,before-hook-creation"}}
	t.Run("Pods as in Helm", func(t *testing.T) {
		t.Parallel()
		h := harness.New(t)
		h.MustRun("install", "rel", testChart(t, "", pods...))
		for _, args := range [][]string{{"test", "rel", "--logs"}, {"test", "rel", "--logs", "--filter", "!name=b-pod,!name=c-pod"}, {"test", "rel", "--logs", "--filter", "name=none"}} {
			ours, theirs := h.MustRun(args...).Stdout, h.MustRunStock(t, args...)
			_, logs, _ := strings.Cut(ours, "Have fun.\n")
			if _, want, _ := strings.Cut(theirs, "Have fun.\n"); logs != want {
				t.Errorf("%s prints %q, stock Helm %q", args, logs, want)
			}
		}
	})
	for _, mode := range []string{"", "true"} {
		t.Run("Jobs, mode "+mode, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			failed := charts.Object{Kind: "Job", Name: "failed", Weight: 3, PodAnnotations: failing}
			h.MustRun("install", "rel", testChart(t, mode, append(slices.Clone(pods),
				charts.Object{Kind: "Job", Name: "job", Containers: []string{"left", "right"}, PodAnnotations: []string{`devcluster/log.left: "left says it"`, `devcluster/log.right: "right says it"`}}, failed)...))
			r := h.ExpectFailure(t, []string{"test", "rel", "--logs"})
			harness.ExpectContains(t, r.Stdout, "POD LOGS: a-pod", "a-pod ends", "b-pod ends", "c-pod ends", "left says it\n", "right says it\n", "failed ends")
			r = h.MustRun("test", "rel", "--logs", "--filter", "name=job")
			if !strings.Contains(r.Stdout, "right says it") || strings.Contains(r.Stdout, "pod ends") {
				t.Errorf("the logs of one test are\n%s", r.Stdout)
			}
			// It is not an error if the log of a test cannot be read because the test was
			// deleted.
			h.MustRun("upgrade", "rel", testChart(t, mode, charts.Object{Kind: "Job", Name: "gone", DeletePolicy: "hook-succeeded"}, charts.Object{Kind: "Pod", Name: "stays"}))
			harness.ExpectContains(t, h.Run("test", "rel", "--logs").Stdout, "stays ends")
		})
	}
}

// TestTimeoutOfTests checks that a test that hangs fails when --timeout expires, and that it
// does not delay tests that run in parallel.
func TestTimeoutOfTests(t *testing.T) {
	t.Parallel()
	for _, timeout := range harness.Timeouts() {
		h := harness.New(t)
		h.MustRun("install", "rel", testChart(t, "true", charts.Object{Kind: "Job", Name: "hangs", PodAnnotations: running}, charts.Object{Kind: "Job", Name: "done"}, charts.Object{Kind: "Job", Name: "next", Weight: 1}))
		r := h.ExpectFailure(t, []string{"test", "rel", "--timeout", timeout}, "hangs")
		runs := storedRuns(t, h)
		if runs["Job/done"].Phase != release.HookPhaseSucceeded {
			continue
		}
		if runs["Job/hangs"].Phase != release.HookPhaseFailed || runs["Job/next"].Phase != "" {
			t.Errorf("recorded are %+v", runs)
		}
		expectPhases(t, h, r, map[string]string{"hangs": "Failed", "done": "Succeeded"})
		return
	}
	t.Error("the other test never completed")
}

// phasesPrinted returns the phase of each test in the output of `helm test`.
func phasesPrinted(tb testing.TB, text string) map[string]string {
	tb.Helper()
	phases := map[string]string{}
	for _, part := range strings.Split(text, "TEST SUITE: ")[1:] {
		name, rest, _ := strings.Cut(strings.TrimSpace(part), "\n")
		lines := strings.Split(rest, "\n")
		if len(lines) < 3 || !strings.HasPrefix(lines[2], "Phase: ") {
			tb.Fatalf("no outcome of %s in\n%s", name, text)
		}
		phases[name] = strings.TrimSpace(strings.TrimPrefix(lines[2], "Phase: "))
	}
	return phases
}

// expectPhases checks the phases of tests in the output of `helm test` and in the stored
// release.
func expectPhases(tb testing.TB, h *harness.Helm, r harness.Result, want map[string]string) {
	tb.Helper()
	printed, stored := phasesPrinted(tb, r.Stdout), map[string]string{}
	for _, hook := range h.LastRevision(tb, "rel").Hooks {
		if hook.LastRun.Phase != "" && !strings.HasSuffix(hook.Name, "-other") {
			stored[hook.Name] = hook.LastRun.Phase.String()
		}
	}
	if !maps.Equal(printed, want) || !maps.Equal(stored, want) {
		tb.Errorf("printed are %v, stored %v, want %v", printed, stored, want)
	}
}

// TestTestSuccessAndTestFailureHooks checks tests with the events of Helm 2: test-success, and
// test-failure, whose tests pass if their pods fail.
func TestTestSuccessAndTestFailureHooks(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tests []charts.Object
		code  int
		want  map[string]string
	}{
		"both pass": {
			tests: []charts.Object{{Kind: "Job", Name: "good", Hook: "test-success"}, {Kind: "Job", Name: "bad", Hook: "test-failure", PodAnnotations: failing}, {Kind: "Pod", Name: "bad-pod", Hook: "test-failure", PodAnnotations: failing}},
			want:  map[string]string{"good": "Succeeded", "bad": "Succeeded", "bad-pod": "Succeeded"},
		},
		"a Job that succeeds": {
			tests: []charts.Object{{Kind: "Job", Name: "wrong", Hook: "test-failure"}}, code: 1,
			want: map[string]string{"wrong": "Failed"},
		},
		"a Pod that succeeds": {
			tests: []charts.Object{{Kind: "Job", Name: "good", Weight: -1, Hook: "test-success"}, {Kind: "Pod", Name: "wrong", Hook: "test-failure"}}, code: 1,
			want: map[string]string{"good": "Succeeded", "wrong": "Failed"},
		},
		"a test that fails": {
			tests: []charts.Object{{Kind: "Job", Name: "bad", Weight: -1, Hook: "Test-Failure", PodAnnotations: failing}, {Kind: "Job", Name: "wrong", Hook: "test-success", PodAnnotations: failing}}, code: 1,
			want: map[string]string{"bad": "Succeeded", "wrong": "Failed"},
		},
	} {
		for _, mode := range []string{"", "true"} {
			t.Run(name+", mode "+mode, func(t *testing.T) {
				t.Parallel()
				h := harness.New(t)
				h.MustRun("install", "rel", testChart(t, mode, tt.tests...))
				r := h.Run("test", "rel")
				if r.ExitCode != tt.code {
					t.Errorf("exit code %d, want %d\n%s", r.ExitCode, tt.code, r.Stderr)
				}
				expectPhases(t, h, r, tt.want)
				for test, phase := range tt.want {
					if phase == "Failed" {
						harness.ExpectContains(t, r.Stderr, test)
					}
				}
			})
		}
	}
	for _, events := range []string{"test-failure,test", "test-success,test-failure"} {
		t.Run(events, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			h.ExpectRejected(t, h.Run("install", "rel", testChart(t, "", charts.Object{Kind: "Job", Name: "odd", Hook: events})), "app/templates/odd.yaml", "test-failure")
		})
	}
}

// TestDeletePoliciesOfTestFailureHooks checks that a test that passes because its pod fails
// counts as succeeded for its delete policy.
func TestDeletePoliciesOfTestFailureHooks(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	const done, failed, event = release.HookPhaseSucceeded, release.HookPhaseFailed, "test-failure"
	outcomes := []hookOutcome{
		{Object: charts.Object{Kind: "Job", Name: "gone", DeletePolicy: "hook-succeeded", LogPolicy: "hook-succeeded", PodAnnotations: failing}, phase: done, printed: true},
		{Object: charts.Object{Kind: "Job", Name: "stays", DeletePolicy: "hook-failed", LogPolicy: "hook-failed", PodAnnotations: failing}, phase: done, stays: true},
		{Object: charts.Object{Kind: "Job", Name: "wrong-gone", Weight: 1, DeletePolicy: "hook-failed", LogPolicy: "hook-failed"}, phase: failed, printed: true},
	}
	h.MustRun("install", "rel", testChart(t, "true", hooksFor(event, outcomes)...))
	h.Started = harness.Now()
	r := h.ExpectFailure(t, []string{"test", "rel"}, "wrong-gone")
	expectOutcomes(t, h, h.LastRevision(t, "rel"), r.Stderr, outcomes)
}

// TestTestsInParallel checks that the tests of a chart with runHooksInParallel run in
// parallel.
func TestTestsInParallel(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	h.MustRun("install", "rel", testChart(t, "true", charts.Object{Kind: "Job", Name: "a", Gate: slowGate}, charts.Object{Kind: "Pod", Name: "b", Gate: slowGate}, charts.Object{Kind: "Job", Name: "left-out"}))
	p := h.Start(t, "test", "rel", "--filter", "!name=left-out")
	awaitHookPhases(t, h, release.HookPhaseRunning, "Job/a", "Pod/b")
	h.OpenGates(t, slowGate)
	expectPhases(t, h, p.ExpectExit(t, 0), map[string]string{"a": "Succeeded", "b": "Succeeded"})
}
