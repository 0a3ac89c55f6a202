// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/text"
)

const (
	// maxInSummary is the maximum number of resources that a summary names.
	maxInSummary = 5
	// maxInDetail is the maximum number of resources that are described in detail. The
	// others are only named.
	maxInDetail = 20
	// maxNamed is the maximum number of resources or nodes in a list of names after the
	// details.
	maxNamed = 200
	// maxSummary is the maximum number of characters of a summary.
	maxSummary = 300
)

// Error describes the failure in one line: the resource, the outcome and the most specific
// cause.
func (f *Resource) Error() string {
	why := f.Message
	if f.isExplainedByCause() {
		why = f.causeLine(f.Causes[0])
	}
	line := f.subject() + " " + f.Outcome
	if why != "" {
		line += ": " + why
	}
	return line
}

// isExplainedByCause reports whether the most specific cause says more about the failure than
// Message.
func (f *Resource) isExplainedByCause() bool {
	return len(f.Causes) > 0 && f.Reason != readiness.ReasonFailureExpression
}

// short returns the name of the resource and the reason of its failure, as in
// "Deployment/db (CrashLoopBackOff)".
func (f *Resource) short() string {
	reason := f.Reason
	if len(f.Causes) > 0 {
		reason = f.Causes[0].Reason
	}
	if reason == "" || reason == NotApplied {
		return f.subject()
	}
	return f.subject() + " (" + reason + ")"
}

// subject returns the name of the resource or, if it is not known which resource failed, of
// the node. It contains the namespace if that is not the release's.
func (f *Resource) subject() string {
	switch {
	case f.Resource == "":
		return f.Title
	case f.OtherNamespace:
		return f.Resource + " in namespace " + f.Namespace
	}
	return f.Resource
}

// writeDetail writes all details of the failure to b, one per line. It omits what summary, the
// line above the details, has already said.
func (f *Resource) writeDetail(b *strings.Builder, summary string) {
	summarized := f.Resource != "" && strings.HasSuffix(summary, f.Error())
	var words []string
	if f.Resource != "" {
		words = append(words, f.subject())
	}
	if f.File != "" {
		words = append(words, "("+f.File+")")
	}
	if !summarized {
		words = append(words, f.Outcome)
	}
	b.WriteString("  " + strings.Join(words, " "))
	if f.Message != "" && !f.causesRepeatMessage() && (!summarized || f.isExplainedByCause()) {
		b.WriteString(": " + text.Indent(f.Message, "    "))
	}
	b.WriteString("\n")
	for i, c := range f.Causes {
		line := f.causeLine(c)
		if summarized && i == 0 && f.isExplainedByCause() {
			if len(c.Log) == 0 {
				continue
			}
			line = strings.TrimSuffix(line, c.Explanation())
		}
		fmt.Fprintf(b, "    %s\n", text.Indent(strings.TrimSpace(line), "      "))
		for _, line := range c.Log {
			fmt.Fprintf(b, "      | %s\n", line)
		}
	}
}

// causesRepeatMessage reports whether one of the causes was found in the resource itself
// and contains its Message, so that the message need not be printed.
func (f *Resource) causesRepeatMessage() bool {
	return slices.ContainsFunc(f.Causes, func(c Cause) bool {
		return c.Object == f.causeObject() && strings.Contains(c.Message, f.Message)
	})
}

// causeObject returns the name of the resource in the format of Cause.Object.
func (f *Resource) causeObject() string {
	kind, name, _ := strings.Cut(f.Resource, "/")
	if f.Namespace != "" {
		return kind + " " + f.Namespace + "/" + name
	}
	return kind + " " + name
}

// causeLine returns the text of a cause. It omits the name of the object in which the cause
// was found if that is the resource itself, because the text has already named it.
func (f *Resource) causeLine(c Cause) string {
	line := c.String()
	if rest, found := strings.CutPrefix(line, f.causeObject()); found && c.Object == f.causeObject() {
		return strings.TrimLeft(rest, ": ")
	}
	return line
}

// names returns name(f) for each failure f in list.
func names(list []*Resource, name func(*Resource) string) []string {
	result := make([]string, len(list))
	for i, f := range list {
		result[i] = name(f)
	}
	return result
}

// writeMore names the failures in rest, for which there is no room in the details.
func writeMore(b *strings.Builder, rest []*Resource) {
	fmt.Fprintf(b, "and %d more: %s\n", len(rest), text.List(names(rest, (*Resource).subject), maxNamed))
}
