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

// findingRank says how likely it is that a finding is the cause that the user must fix.
// Lower ranks are more likely.
type findingRank int

const (
	rankCause       findingRank = iota // a cause that the user must fix: a crash, a missing object, a quota
	rankWarning                        // a warning that may be irrelevant
	rankUnexplained                    // something is not ready yet, without a reason
	rankSymptom                        // a controller reports that its object is not ready
)

// finding is a possible Cause that the diagnosis has found.
type finding struct {
	Cause
	rank findingRank
	// key identifies the problem. Findings about different pods are merged if they have the
	// same container and key. key is empty for a finding that must not be merged.
	key string
	// count is the number of occurrences of a warning, or 0. suffix is appended to the
	// message.
	count  int
	suffix string
	// terminationMessage is the termination message of the container. It is appended to the
	// message unless the log contains it. log is the log to show, or nil.
	terminationMessage string
	log                *logSource
}

// findings collects the findings about one subject.
type findings struct {
	list []finding
	// visited contains the objects whose warning events become findings in the end.
	visited []visitedObject
}

// visitedObject is an entry of findings.visited. isExplained reports whether warnings with a
// reason are left out, because other findings already explain them. If it is nil, no warnings
// are left out.
type visitedObject struct {
	clusterreader.ObjectRef
	isExplained func(reason string) bool
}

// add adds a finding. at identifies the object that the finding is about.
func (f *findings) add(at clusterreader.ObjectRef, next finding) {
	next.Object = at.String()
	f.list = append(f.list, next)
}

// visit makes addWarnings add the warnings about an object, which at identifies. Warnings
// are left out if explained returns true for their reason. explained can be nil.
func (f *findings) visit(at clusterreader.ObjectRef, explained func(reason string) bool) {
	f.visited = append(f.visited, visitedObject{ObjectRef: at, isExplained: explained})
}

// hasRank reports whether there is a finding with the rank worst or a more likely one.
func (f *findings) hasRank(worst findingRank) bool {
	return slices.ContainsFunc(f.list, func(one finding) bool { return one.rank <= worst })
}

func isCause(f finding) bool { return f.rank == rankCause }

// selectFindings chooses the findings to return as causes. It merges findings about several
// pods, removes less relevant and repeated ones, and sorts the remaining ones by rank.
func selectFindings(findings []finding) []finding {
	findings = mergePods(findings)
	if slices.ContainsFunc(findings, isCause) {
		findings = slices.DeleteFunc(findings, func(f finding) bool { return f.rank >= rankUnexplained })
	}
	slices.SortStableFunc(findings, func(a, b finding) int { return cmp.Compare(a.rank, b.rank) })
	findings = removeRepeats(findings)
	return findings[:min(len(findings), maxCauses)]
}

// mergePods merges the findings about different pods that have the same container and key. It
// sets Count of a merged finding to the number of the pods.
func mergePods(findings []finding) []finding {
	type mergeKey struct{ container, key string }
	type group struct {
		at   int // the index of the group's finding in merged
		pods map[string]bool
	}
	groups := map[mergeKey]group{}
	var merged []finding
	for _, f := range findings {
		like := mergeKey{f.Container, f.key}
		g, seen := groups[like]
		if f.key == "" || !seen {
			groups[like] = group{at: len(merged), pods: map[string]bool{f.Object: true}}
			merged = append(merged, f)
			continue
		}
		g.pods[f.Object] = true
		first := &merged[g.at]
		first.rank = min(first.rank, f.rank)
		if len(g.pods) > 1 {
			first.Count = len(g.pods)
		}
	}
	return merged
}

// removeRepeats removes a finding if an earlier finding, about the same object or about an
// object of another kind, has the same container and one of the two messages contains the
// other. For example, a ReplicaSet and its Deployment report the same error.
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

// causes converts findings to causes. It redacts the contents of Secrets in the messages.
func (d *Diagnoser) causes(findings []finding) []Cause {
	var causes []Cause
	for _, f := range findings {
		cause := f.Cause
		cause.Message = d.redactLine(f.Message)
		if f.count > 1 {
			cause.Message += fmt.Sprintf(" (%d times)", f.count)
		}
		cause.Message += f.suffix
		lastLine := d.redactLines(f.terminationMessage, 1) // in the form of a line in cause.Log
		if said := d.redactLine(f.terminationMessage); said != "" && (len(lastLine) == 0 || !slices.Contains(cause.Log, lastLine[0])) {
			cause.Message += ": " + said
		}
		cause.Message = truncate(cause.Message, maxMessageLength)
		causes = append(causes, cause)
	}
	return causes
}

// redactLine redacts the contents of Secrets in a text, and joins its lines into one.
func (d *Diagnoser) redactLine(text string) string {
	return strings.Join(strings.Fields(d.config.Redactor.Text(redact.Normalize(text))), " ")
}

// truncate cuts off the runes of a text after the first limit, and appends an ellipsis.
func truncate(text string, limit int) string {
	runes := 0
	for at := range text {
		if runes++; runes > limit {
			return strings.TrimRight(text[:at], " ") + "…"
		}
	}
	return text
}
