// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ordered-helm/helm/internal/redact"
)

const (
	maxCauses  = 5   // of one subject
	maxMessage = 600 // runes
)

// rank says how telling a finding is.
type rank int

const (
	concrete rank = iota // what is to be mended: a crash, a missing object, a quota
	notable              // a warning that may or may not matter
	vague                // something is not ready yet, and nobody says why
	symptom              // a controller's statement that its object is not ready
)

// finding is a cause in the making.
type finding struct {
	Cause
	rank rank
	// key is what findings of several pods have in common; empty if the finding
	// is about one object alone.
	key string
	// times is how often a warning came, after what else there is to say.
	times int
	after string
	// said is the container's own last words. They are left out where its log
	// has them.
	said string
	log  *logSource
}

// sift folds what was found on several pods, leaves out what others say better,
// and puts the most telling first.
func sift(findings []finding) []finding {
	findings = fold(findings)
	if slices.ContainsFunc(findings, func(f finding) bool { return f.rank == concrete }) {
		findings = slices.DeleteFunc(findings, func(f finding) bool { return f.rank >= vague })
	}
	slices.SortStableFunc(findings, func(a, b finding) int { return cmp.Compare(a.rank, b.rank) })
	findings = withoutRepeats(findings)
	return findings[:min(len(findings), maxCauses)]
}

func fold(findings []finding) []finding {
	type likeness struct{ container, key string }
	type group struct {
		at   int // of the first in the result
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

// withoutRepeats leaves out what says the same as one before it, of the same
// object or of one of another kind: a Deployment says again what its pods say.
func withoutRepeats(findings []finding) []finding {
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

// causes makes findings fit to be printed.
func (d *Diagnoser) causes(findings []finding) []Cause {
	var causes []Cause
	for _, f := range findings {
		cause := f.Cause
		cause.Message = d.printable(f.Message)
		if f.times > 1 {
			cause.Message += fmt.Sprintf(" (%d times)", f.times)
		}
		cause.Message += f.after
		if said := d.printable(f.said); said != "" && !slices.ContainsFunc(cause.Log, sameLine(f.said, d)) {
			cause.Message += ": " + said
		}
		cause.Message = truncate(cause.Message, maxMessage)
		causes = append(causes, cause)
	}
	return causes
}

// sameLine recognises the last line of a text among the lines of a log.
func sameLine(text string, d *Diagnoser) func(string) bool {
	lines := d.lines(text, 1)
	return func(line string) bool { return len(lines) > 0 && line == lines[0] }
}

// printable joins the lines of a text and removes the contents of Secrets.
func (d *Diagnoser) printable(text string) string {
	return strings.Join(strings.Fields(d.Redactor.Text(redact.Normalize(text))), " ")
}

// truncate shortens a text to a number of runes.
func truncate(text string, limit int) string {
	runes := 0
	for at := range text {
		if runes++; runes > limit {
			return strings.TrimRight(text[:at], " ") + "…"
		}
	}
	return text
}
