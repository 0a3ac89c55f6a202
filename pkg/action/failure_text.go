// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ordered-helm/helm/internal/readiness"
)

const (
	// mostInSummary is how many resources the first line names.
	mostInSummary = 5
	// mostInDetail is how many are written out below it.
	mostInDetail = 20
	// mostNamed is how many are at least named.
	mostNamed = 200
	// longestSummary is how many characters the first line has at most.
	longestSummary = 300
)

// Error is Summary, and what is known in detail on the lines after it.
func (e *DeployError) Error() string {
	var b strings.Builder
	b.WriteString(e.Summary())
	node := ""
	for i, f := range e.Resources {
		if i == mostInDetail {
			fmt.Fprintf(&b, "and %d more: %s\n", len(e.Resources)-i, enumerate(subjects(e.Resources[i:]), mostNamed))
			break
		}
		if f.Title != node || i == 0 {
			node = f.Title
			b.WriteString("\n")
			if node != "" {
				b.WriteString(node + ":\n")
			}
		}
		f.detail(&b)
		if next := i + 1; f.Remedy != "" && (next == len(e.Resources) || next == mostInDetail || e.Resources[next].Remedy != f.Remedy) {
			fmt.Fprintf(&b, "    %s\n", f.Remedy)
		}
	}
	text := strings.TrimRight(b.String(), "\n")
	if len(e.Unfinished) > 0 {
		text += "\nnot ready so far when that ended the operation: " + enumerate(e.Unfinished, mostNamed)
	}
	if len(e.NeverStarted) > 0 {
		text += "\nnever started because of that: " + enumerate(e.NeverStarted, mostNamed)
	}
	return text
}

// Summary says in one line what failed.
func (e *DeployError) Summary() string { return cutTo(longestSummary, e.summary()) }

// cutTo folds a text into one line of so many characters.
func cutTo(most int, text string) string {
	line := []rune(oneLine(text))
	if len(line) > most {
		return string(line[:most]) + "…"
	}
	return string(line)
}

func (e *DeployError) summary() string {
	switch len(e.Resources) {
	case 0:
		if e.cause == nil {
			return "the operation did not finish"
		}
		return e.cause.Error()
	case 1:
		return e.Resources[0].Error()
	}
	names := make([]string, len(e.Resources))
	states := map[string]int{}
	for i, f := range e.Resources {
		names[i] = f.short()
		states[f.State]++
	}
	verb := "are not ready"
	switch {
	case states[string(readiness.Failed)] == len(names):
		verb = "failed"
	case states[NotApplied] == len(names):
		verb = "could not be applied"
	case errors.Is(e.cause, context.Canceled):
		verb = "were waited for when the operation was cancelled"
	}
	return fmt.Sprintf("%d resources %s: %s", len(names), verb, enumerate(names, mostInSummary))
}

// Error says in one line what became of the resource, and why.
func (f *ResourceFailure) Error() string {
	why := f.Message
	if len(f.Causes) > 0 && f.Reason != readiness.ReasonFailureExpression {
		why = f.tell(f.Causes[0])
	}
	text := f.subject() + " " + f.ending
	if why != "" {
		text += ": " + why
	}
	return text
}

// repeated reports that a cause found at the resource itself says what its
// status says, and more.
func (f *ResourceFailure) repeated() bool {
	for _, c := range f.Causes {
		if c.Object == f.object() && strings.Contains(c.Message, f.Message) {
			return true
		}
	}
	return false
}

// object is what causes name the resource.
func (f *ResourceFailure) object() string {
	kind, name, _ := strings.Cut(f.Resource, "/")
	if f.Namespace != "" {
		return kind + " " + f.Namespace + "/" + name
	}
	return kind + " " + name
}

// tell puts a cause into one line. Where it was found is left out if that is the
// resource itself, which was named before.
func (f *ResourceFailure) tell(c Cause) string {
	text := c.String()
	if rest, found := strings.CutPrefix(text, f.object()); found && c.Object == f.object() {
		return strings.TrimLeft(rest, ": ")
	}
	return text
}

// Error is the text of a single failure, or a summary of several.
func (l resourceFailures) Error() string { return (&DeployError{Resources: l}).Summary() }

// short names the resource and, in a word, what is wrong with it.
func (f *ResourceFailure) short() string {
	reason := f.Reason
	if len(f.Causes) > 0 {
		reason = f.Causes[0].Reason
	}
	if reason == "" || reason == NotApplied {
		return f.subject()
	}
	return f.subject() + " (" + reason + ")"
}

func (f *ResourceFailure) subject() string {
	switch {
	case f.Resource == "":
		return f.Title
	case f.foreign:
		return f.Resource + " in namespace " + f.Namespace
	}
	return f.Resource
}

// detail writes everything that is known, a line for each thing.
func (f *ResourceFailure) detail(b *strings.Builder) {
	b.WriteString("  ")
	if f.Resource != "" {
		b.WriteString(f.subject() + " ")
	}
	if f.File != "" {
		fmt.Fprintf(b, "(%s) ", f.File)
	}
	b.WriteString(f.ending)
	if f.Message != "" && !f.repeated() {
		b.WriteString(": " + indent(f.Message, "    "))
	}
	b.WriteString("\n")
	for _, c := range f.Causes {
		fmt.Fprintf(b, "    %s\n", indent(f.tell(c), "      "))
		for _, line := range c.Log {
			fmt.Fprintf(b, "      | %s\n", line)
		}
	}
}

func subjects(list []*ResourceFailure) []string {
	names := make([]string, len(list))
	for i, f := range list {
		names[i] = f.subject()
	}
	return names
}

// indent puts the lines after the first further in.
func indent(text, by string) string {
	return strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+by)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// enumerate joins names, and says how many more there are than most.
func enumerate(names []string, most int) string {
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
