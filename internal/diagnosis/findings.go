// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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
	symptom              // a controller's statement that it is not ready
	vague                // it just is not ready yet
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
	best := vague
	for _, f := range findings {
		best = min(best, f.rank)
	}
	findings = slices.DeleteFunc(findings, func(f finding) bool {
		return f.rank == symptom && best == concrete || f.rank == vague && best < vague
	})
	slices.SortStableFunc(findings, func(a, b finding) int { return cmp.Compare(a.rank, b.rank) })
	findings = withoutRepeats(findings)
	return findings[:min(len(findings), maxCauses)]
}

func fold(findings []finding) []finding {
	type likeness struct{ container, reason, key string }
	first := map[likeness]int{}
	var folded []finding
	for _, f := range findings {
		like := likeness{f.Container, f.Reason, f.key}
		at, seen := first[like]
		if f.key == "" || !seen {
			first[like] = len(folded)
			folded = append(folded, f)
			continue
		}
		if folded[at].Object != f.Object {
			folded[at].Count = max(folded[at].Count, 1) + 1
		}
		folded[at].rank = min(folded[at].rank, f.rank)
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
		cause.Message = cut(cause.Message, maxMessage)
		causes = append(causes, cause)
	}
	return causes
}

// sameLine recognises the last line of a text among the lines of a log.
func sameLine(text string, d *Diagnoser) func(string) bool {
	lines := d.lines(text, 1)
	return func(line string) bool { return len(lines) > 0 && line == lines[0] }
}

// printable makes one line of a text, without secrets.
func (d *Diagnoser) printable(text string) string {
	return strings.Join(strings.Fields(d.masker.mask(clean(text))), " ")
}
