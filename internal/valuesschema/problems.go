// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package valuesschema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// problemList lists the problems of the values of one chart, one a line.
type problemList struct {
	// at is the path of the values of the chart.
	at      []string
	lines   []string
	omitted int
}

// listProblems returns the problems in an error as the library prints them, with these
// differences: paths begin at the values of the root chart, to which at leads; the order is always
// the same; and no text from the values is printed, because it could be a password.
func listProblems(e *jsonschema.ValidationError, at []string) string {
	sortCauses(e)
	l := &problemList{at: at}
	for _, cause := range e.Causes { // e itself only names the schema
		l.add(cause, 0)
	}
	if l.omitted > 0 {
		l.lines = append(l.lines, fmt.Sprintf("- and %d more", l.omitted))
	}
	return strings.Join(l.lines, "\n")
}

// add adds a problem and its causes.
func (l *problemList) add(e *jsonschema.ValidationError, indent int) {
	if _, isReference := e.ErrorKind.(*kind.Reference); isReference && len(e.Causes) == 1 {
		l.add(e.Causes[0], indent)
		return
	}
	if len(l.lines) < maxProblems {
		l.lines = append(l.lines, strings.Repeat("  ", indent)+problemLine(slices.Concat(l.at, e.InstanceLocation), problemOf(e)))
	} else {
		l.omitted++
	}
	for _, cause := range e.Causes {
		l.add(cause, indent+1)
	}
}

// problemLine returns the line about a value.
func problemLine(path []string, problem string) string {
	return fmt.Sprintf("- at '%s': %s", pointerTo(path), problem)
}

// problemOf returns what is wrong with a value, without its causes.
func problemOf(e *jsonschema.ValidationError) string {
	switch k := e.ErrorKind.(type) {
	case *kind.Pattern:
		return fmt.Sprintf("does not match pattern '%s'", k.Want)
	case *kind.Format:
		return "is not valid " + k.Want
	case *kind.RefCycle:
		return "the schema is endless: its references form a cycle"
	case *kind.AdditionalProperties:
		return messageOf(&kind.AdditionalProperties{Properties: slices.Sorted(slices.Values(k.Properties))})
	default:
		return messageOf(k)
	}
}

// messageOf returns the message of the library about a problem.
func messageOf(k jsonschema.ErrorKind) string {
	return (&jsonschema.ValidationError{ErrorKind: k}).BasicOutput().Error.String()
}

// sortCauses sorts the causes of an error, which the library returns in random order.
func sortCauses(e *jsonschema.ValidationError) {
	for _, cause := range e.Causes {
		sortCauses(cause)
	}
	if len(e.Causes) > 1 {
		slices.SortStableFunc(e.Causes, func(a, b *jsonschema.ValidationError) int {
			return cmp.Or(
				slices.Compare(a.InstanceLocation, b.InstanceLocation), cmp.Compare(problemOf(a), problemOf(b)),
				cmp.Compare(problemOf(firstLeaf(a)), problemOf(firstLeaf(b))),
			)
		})
	}
}

// firstLeaf returns the first problem without causes.
func firstLeaf(e *jsonschema.ValidationError) *jsonschema.ValidationError {
	for len(e.Causes) > 0 {
		e = e.Causes[0]
	}
	return e
}
