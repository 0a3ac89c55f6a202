// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// hookOutcome is a hook with its expected result.
type hookOutcome struct {
	charts.Object
	// phase is the phase in the stored release, or empty for a hook that is never started.
	phase release.HookPhase
	// stays is true if its object still exists after the operation, printed if its log is
	// printed.
	stays, printed bool
	// after is a time before which the hook cannot have completed.
	after time.Time
}

// hooksFor returns the hooks of outcomes as hooks of an event.
func hooksFor(event string, outcomes []hookOutcome) []charts.Object {
	var parts []charts.Object
	for _, f := range outcomes {
		f.Hook = event
		parts = append(parts, f.Object)
	}
	return parts
}

// idsInPhase returns the hooks that are expected to end in a phase.
func idsInPhase(outcomes []hookOutcome, phase release.HookPhase) []string {
	var list []string
	for _, f := range outcomes {
		if f.phase == phase {
			list = append(list, f.String())
		}
	}
	return list
}

// startedIDs returns the hooks that are expected to start.
func startedIDs(outcomes []hookOutcome) []string {
	return append(idsInPhase(outcomes, release.HookPhaseSucceeded), idsInPhase(outcomes, release.HookPhaseFailed)...)
}

// withGate returns the "Kind/name" of the hooks that wait for a gate.
func withGate(outcomes []hookOutcome, gate string) []string {
	var list []string
	for _, f := range outcomes {
		if f.Gate == gate && f.phase != "" {
			list = append(list, f.String())
		}
	}
	return list
}

// expectOutcomes checks the results of hooks: in the audit log, in the cluster, in the stored
// revision rel unless it is nil, and in the output.
func expectOutcomes(tb testing.TB, h *harness.Helm, rel *release.Release, stderr string, outcomes []hookOutcome) {
	tb.Helper()
	recorded := h.ReadTrace(tb).Since(h.Started)
	logs := printedLogs(tb, stderr)
	var printed []string
	there := existingObjects(tb, h)
	for _, f := range outcomes {
		_, here := there[f.String()]
		f.expectObject(tb, here, recorded)
		if rel != nil {
			f.expectRecord(tb, runsOf(rel)[f.String()], recorded)
		}
		if f.printed {
			printed = append(printed, f.String())
		}
		want := ""
		if f.printed {
			want = strings.Join(logLines(f.Object), "\n")
		}
		if got := strings.Join(logs[f.String()], "\n"); got != want {
			tb.Errorf("of %s this log was printed: %q, want %q", f.String(), got, want)
		}
	}
	if got := slices.Sorted(maps.Keys(logs)); !slices.Equal(got, slices.Sorted(slices.Values(printed))) {
		tb.Errorf("logs were printed of %s, want those of %s\n%s", got, printed, stderr)
	}
}

// expectObject checks whether the object of the hook was created and deleted as expected.
func (f hookOutcome) expectObject(tb testing.TB, here bool, recorded harness.Trace) {
	tb.Helper()
	created, deleted := recorded.HelmWrites(f.String(), "create"), recorded.HelmWrites(f.String(), "delete")
	switch {
	case f.phase == "" && len(created)+len(deleted) > 0:
		tb.Errorf("%s was never to be started: it was created %d times, deleted %d times", f.String(), len(created), len(deleted))
	case f.phase != "" && len(created) != 1:
		tb.Errorf("%s was created %d times", f.String(), len(created))
	case here != f.stays:
		tb.Errorf("%s is there: %v, want %v", f.String(), here, f.stays)
	case f.stays && len(deleted) > 0:
		tb.Errorf("%s was deleted", f.String())
	case f.phase != "" && !f.stays && len(deleted) == 0:
		tb.Errorf("%s was not deleted by helm", f.String())
	}
}

// expectRecord checks the result of the hook in the stored release.
func (f hookOutcome) expectRecord(tb testing.TB, run release.HookExecution, recorded harness.Trace) {
	tb.Helper()
	if f.phase == "" {
		if !run.StartedAt.IsZero() || !run.CompletedAt.IsZero() || run.Phase != "" {
			tb.Errorf("%s was never started, and is recorded as %+v", f.String(), run)
		}
		return
	}
	if run.Phase != f.phase {
		tb.Errorf("%s is recorded as %q, want %q", f.String(), run.Phase, f.phase)
	}
	created := recorded.HelmWrites(f.String(), "create")
	if run.StartedAt.IsZero() || len(created) > 0 && run.StartedAt.Time.Truncate(time.Microsecond).After(created[0].Received) {
		tb.Errorf("%s is recorded as started at %s, and was created at %+v", f.String(), run.StartedAt, created)
	}
	if run.CompletedAt.Before(run.StartedAt) || run.CompletedAt.Time.Before(f.after) {
		tb.Errorf("%s is recorded as completed at %s; it was started at %s, and cannot have been done by %s", f.String(), run.CompletedAt, run.StartedAt, f.after)
	}
	for _, w := range recorded[f.String()] {
		phase := w.Stored.Status.Phase
		if w.Stored.Condition("Complete") || w.Stored.Condition("Failed") || phase == "Succeeded" || phase == "Failed" {
			if run.CompletedAt.Time.Before(w.Received) {
				tb.Errorf("%s is recorded as completed at %s, but it was at %s", f.String(), run.CompletedAt, w.Received)
			}
			break
		}
	}
}

// logPrefix matches a line of a log that is printed while hooks run in parallel. The line
// begins with the names of the hook, the pod and the container.
var logPrefix = regexp.MustCompile(`^\[((?:Job|Pod)/(\S+)) (\S+)/(\S+)\] (.*)$`)

// printedLogs returns the lines of the logs in an output, by "Kind/name" of the hook. It
// checks that the lines of a hook are consecutive.
func printedLogs(tb testing.TB, text string) map[string][]string {
	tb.Helper()
	logs, before := map[string][]string{}, ""
	for line := range strings.SplitSeq(text, "\n") {
		match := logPrefix.FindStringSubmatch(line)
		if match == nil {
			if strings.Contains(line, "[Job/") || strings.Contains(line, "[Pod/") {
				tb.Errorf("a log begins within a line: %q", line)
			}
			before = ""
			continue
		}
		id, hook, pod := match[1], match[2], match[3]
		if len(logs[id]) > 0 && before != id {
			tb.Errorf("the log of %s is torn:\n%s", id, text)
		}
		if pod != hook && !strings.HasPrefix(pod, hook+"-") {
			tb.Errorf("%s cannot have the pod %s", id, pod)
		}
		logs[id], before = append(logs[id], match[5]), id
	}
	return logs
}

// expectErrorNames checks that an error lists each failed hook with its template, its cause
// and the end of its log, and each hook that was never started.
func expectErrorNames(tb testing.TB, text string, failed, never []string) {
	tb.Helper()
	var missing []string
	for _, id := range failed {
		_, name, _ := strings.Cut(id, "/")
		for _, want := range []string{id, "/templates/" + name + ".yaml", name + " ends"} {
			if !strings.Contains(text, want) {
				missing = append(missing, want)
			}
		}
	}
	if len(missing) > 0 {
		tb.Errorf("it does not say %q:\n%s", missing, text)
	}
	at := strings.LastIndex(text, "skipped")
	if len(never) > 0 && at < 0 {
		tb.Errorf("it does not say what was never started:\n%s", text)
		return
	}
	for _, id := range never {
		_, name, _ := strings.Cut(id, "/")
		if !strings.Contains(text[at:], name) {
			tb.Errorf("it does not say that %s was never started:\n%s", id, text)
		}
	}
}
