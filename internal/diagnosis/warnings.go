// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"context"
	"slices"
	"strings"

	"github.com/ordered-helm/helm/internal/diagnosis/clusterreader"
)

// warningFinding returns a finding that reports a warning.
func (w *subjectDiagnosis) warningFinding(warning clusterreader.Warning, rank findingRank, key string) finding {
	f := finding{rank: rank, key: key, Cause: Cause{
		Container: warning.Container, Reason: warning.Reason, Message: warning.Message,
	}}
	if !w.brief {
		f.count = warning.Count
	}
	return f
}

// addWarnings adds a finding for each warning about a visited object, except those that other
// findings explain (see findings.visit).
func (w *subjectDiagnosis) addWarnings(ctx context.Context) {
	if w.brief && w.findings.hasRank(rankCause) {
		return
	}
	for _, at := range w.findings.visited {
		for _, warning := range w.cluster.Warnings(ctx, at.ObjectRef) {
			if at.isExplained != nil && at.isExplained(warning.Reason) {
				continue
			}
			key := "event " + at.Kind + warning.Reason + normalizeMessage(warning.Message, at.Name)
			w.findings.add(at.ObjectRef, w.warningFinding(warning, rankWarning, key))
		}
	}
}

// normalizeMessage removes all digits and the name of an object from a message about that
// object. Messages about pods with the same problem are equal then.
func normalizeMessage(message, name string) string {
	message = strings.ReplaceAll(message, name, "")
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, message)
}

// anyReason returns a function that reports whether its argument is one of reasons.
func anyReason(reasons ...string) func(string) bool {
	return func(reason string) bool { return slices.Contains(reasons, reason) }
}
