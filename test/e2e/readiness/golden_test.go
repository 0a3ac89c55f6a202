// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/harness"
)

// goldenFile returns the path of a golden file.
func goldenFile(name string) string {
	file := regexp.MustCompile("[^a-z0-9]+").ReplaceAllString(strings.ToLower(name), "-")
	return filepath.Join("testdata", "readiness", file+".golden")
}

// timeoutMark stands for the readiness timeout in the annotations and in the golden file of a
// case. The case is tried with several timeouts.
const timeoutMark = "LIMIT"

// checkFailure checks that the resource does not become ready, and compares the printed error
// with the golden file.
func (c readinessCase) checkFailure(t *testing.T, path string) {
	tries := harness.Timeouts()
	if !c.triesTimeouts() {
		tries = tries[:1]
	}
	if *harness.Update {
		tries = harness.Timeouts()[1:2]
	}
	want, err := os.ReadFile(path)
	if err != nil && !*harness.Update && len(c.says) == 0 {
		t.Errorf("%v: go test -update writes it", err)
	}
	for i, timeout := range tries {
		tried := c.withTimeout(timeout)
		s := newCaseRun(t, tried)
		got := s.runFailing(t, timeout)
		switch {
		case len(c.says) > 0:
			return
		case *harness.Update:
			harness.WriteGolden(t, path, got)
			return
		case got == string(want):
			return
		case i == len(tries)-1:
			t.Errorf("the error printed is:\n%s\nwant, by %s:\n%s", got, path, want)
		default:
			t.Logf("with a timeout of %s the error printed was:\n%s", timeout, got)
		}
	}
}

// runFailing runs a case whose resource does not become ready, and returns the printed error.
func (s *caseRun) runFailing(tb testing.TB, timeout string) string {
	tb.Helper()
	if s.before != nil {
		s.before(tb, s)
	}
	r := s.install(tb)
	if r.ExitCode != 1 {
		tb.Errorf("exit code %d, want 1", r.ExitCode)
	}
	s.checkOutput(tb, r.Stderr)
	if next := s.nextCreated(tb); !next.IsZero() {
		tb.Errorf("what depends on it was created, at %s", next)
	}
	return s.normalize(harness.ErrorOf(r.Stderr), timeout)
}

// triesTimeouts reports whether the case does not set a timeout, so that it is tried with
// several.
func (c readinessCase) triesTimeouts() bool {
	marked := strings.Join(append(append(c.args, c.env...), c.annotations...), " ")
	return strings.Contains(marked, timeoutMark) || !strings.Contains(marked, "readiness-timeout")
}

// withTimeout returns a copy of the case in which timeoutMark is replaced by a timeout.
func (c readinessCase) withTimeout(timeout string) readinessCase {
	for _, list := range []*[]string{&c.args, &c.env, &c.annotations} {
		*list = slices.Clone(*list)
		for i := range *list {
			(*list)[i] = strings.ReplaceAll((*list)[i], timeoutMark, timeout)
		}
	}
	c.beside = strings.ReplaceAll(c.beside, timeoutMark, timeout)
	c.timeout = timeout
	return c
}

// normalize replaces the parts of an error that differ from run to run.
func (s *caseRun) normalize(text, timeout string) string {
	// The letters and digits that Kubernetes uses in random names.
	const random = "[bcdfghjklmnpqrstvwxz2456789]"
	name := regexp.QuoteMeta(s.tested.GetName())
	for _, r := range []struct{ pattern, with string }{
		{regexp.QuoteMeta(s.Namespace), "NAMESPACE"},
		{`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`, "UID"},
		{`\b(` + name + `)-` + random + `{6,10}-` + random + `{5}\b`, "$1-HASH-POD"},
		{`\b(` + name + `)-` + random + `{6,10}\b`, "$1-HASH"},
		{`\b(` + name + `)-` + random + `{5}\b`, "$1-POD"},
		{`\b\d+\.\d+\.\d+\.\d+(:\d+)?\b`, "ADDRESS"},
		{`\bnode-\d\b`, "NODE"},
		// The state of a container alternates between attempts, and their number depends on
		// timing.
		{`\bErrImagePull\b`, "ImagePullBackOff"},
		{`ImagePullBackOff: failed to pull and unpack image ("[^"]+"): not found`, "ImagePullBackOff: Back-off pulling image $1"},
		{`\brestarted (once|\d+ times)`, "restarted N times"},
		{`\bback-off \d+s\b`, "back-off TIME"},
		{` \(\d+ times\)`, ""},
		{`\bfor \d+s\b`, "for TIME"},
		{`\b` + timeout + `\b`, timeoutMark},
	} {
		text = regexp.MustCompile(r.pattern).ReplaceAllString(text, r.with)
	}
	return text
}
