// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ordered-helm/helm/internal/diagnosis/clusterreader"
	"github.com/ordered-helm/helm/internal/redact"
)

const (
	maxCauses        = 5   // of one subject
	maxMessageLength = 600 // runes
)

// certainty says how likely a finding is the cause to fix. Lower values are more likely.
type certainty int

const (
	rankCause       certainty = iota // a cause to fix: a crash, a missing object, a quota
	rankWarning                      // a warning that may be irrelevant
	rankUnexplained                  // something is not ready yet, without a reason
	rankSymptom                      // a controller reports that its object is not ready
)

// finding is a possible Cause of one object that the walk visited.
type finding struct {
	Cause
	rank certainty
	// key identifies the problem: findings about several pods with the same container and
	// key are merged to one. It is empty for a finding that must not be merged.
	key string
	// count is how often a warning occurred. suffix is appended to the message.
	count  int
	suffix string
	// terminationMessage is the message that the container wrote when it terminated. It is
	// shown unless the log contains it. log identifies the log to show; nil for none.
	terminationMessage string
	log                *logSource
}

// findings collects the findings about one subject.
type findings struct {
	list []finding
	// visited has the objects whose warning events are added to the findings at the end.
	visited []visitedObject
}

// visitedObject is an entry of findings.visited. isExplained returns true for the reasons of
// warnings that add nothing to the findings; nil means that all warnings are added.
type visitedObject struct {
	clusterreader.Ref
	isExplained func(reason string) bool
}

// add adds a finding about the object at.
func (f *findings) add(at clusterreader.Ref, next finding) {
	next.Object = at.String()
	f.list = append(f.list, next)
}

// visit makes addWarnings add the warnings about an object, except those with a reason for
// which explained returns true. explained can be nil.
func (f *findings) visit(at clusterreader.Ref, explained func(reason string) bool) {
	f.visited = append(f.visited, visitedObject{Ref: at, isExplained: explained})
}

// hasRank reports whether there is a finding with the rank worst or a more relevant one.
func (f *findings) hasRank(worst certainty) bool {
	return slices.ContainsFunc(f.list, func(one finding) bool { return one.rank <= worst })
}

func isCause(f finding) bool { return f.rank == rankCause }

// selectFindings chooses the findings to return as causes: it merges findings about several
// pods, removes less relevant and repeated ones, and sorts the rest by rank.
func selectFindings(findings []finding) []finding {
	findings = mergePods(findings)
	if slices.ContainsFunc(findings, isCause) {
		findings = slices.DeleteFunc(findings, func(f finding) bool { return f.rank >= rankUnexplained })
	}
	slices.SortStableFunc(findings, func(a, b finding) int { return cmp.Compare(a.rank, b.rank) })
	findings = removeRepeats(findings)
	return findings[:min(len(findings), maxCauses)]
}

// mergePods merges findings about different pods that have the same container and key, and
// sets Count of the merged finding.
func mergePods(findings []finding) []finding {
	type likeness struct{ container, key string }
	type group struct {
		at   int // the index of the merged finding in folded
		pods map[string]bool
	}
	groups := map[likeness]group{}
	var folded []finding
	for _, f := range findings {
		like := likeness{f.Container, f.key}
		g, seen := groups[like]
		if f.key == "" || !seen {
			groups[like] = group{at: len(folded), pods: map[string]bool{f.Object: true}}
			folded = append(folded, f)
			continue
		}
		g.pods[f.Object] = true
		first := &folded[g.at]
		first.rank = min(first.rank, f.rank)
		if len(g.pods) > 1 {
			first.Count = len(g.pods)
		}
	}
	return folded
}

// removeRepeats removes findings whose message repeats, or is repeated by, that of an
// earlier finding about the same object or an object of another kind. For example, a
// ReplicaSet and its Deployment report the same error.
func removeRepeats(findings []finding) []finding {
	var kept []finding
	for _, f := range findings {
		repeats := slices.ContainsFunc(kept, func(k finding) bool {
			related := f.Object == k.Object || kindOf(f) != kindOf(k)
			return related && f.Container == k.Container && f.Message != "" && k.Message != "" &&
				(strings.Contains(k.Message, f.Message) || strings.Contains(f.Message, k.Message))
		})
		if !repeats {
			kept = append(kept, f)
		}
	}
	return kept
}

func kindOf(f finding) string {
	kind, _, _ := strings.Cut(f.Object, " ")
	return kind
}

// causes converts findings to causes, and redacts the contents of Secrets in their
// messages.
func (d *Diagnoser) causes(findings []finding) []Cause {
	var causes []Cause
	for _, f := range findings {
		cause := f.Cause
		cause.Message = d.redactLine(f.Message)
		if f.count > 1 {
			cause.Message += fmt.Sprintf(" (%d times)", f.count)
		}
		cause.Message += f.suffix
		lastLine := d.redactLines(f.terminationMessage, 1) // as it appears in a log
		if said := d.redactLine(f.terminationMessage); said != "" && (len(lastLine) == 0 || !slices.Contains(cause.Log, lastLine[0])) {
			cause.Message += ": " + said
		}
		cause.Message = truncate(cause.Message, maxMessageLength)
		causes = append(causes, cause)
	}
	return causes
}

// redactLine redacts the contents of Secrets in a text, and joins its lines to one.
func (d *Diagnoser) redactLine(text string) string {
	return strings.Join(strings.Fields(d.config.Redactor.Text(redact.Normalize(text))), " ")
}

// truncate shortens a text that has more than limit runes.
func truncate(text string, limit int) string {
	runes := 0
	for at := range text {
		if runes++; runes > limit {
			return strings.TrimRight(text[:at], " ") + "…"
		}
	}
	return text
}
