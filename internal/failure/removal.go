// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ordered-helm/helm/internal/text"
)

// RemovalError reports which objects could not be deleted in order or still existed after the
// timeout, and which nodes were therefore not deleted (docs/reference.md, "Failure reports").
// The first line of the text is a summary, and the following lines have the details.
type RemovalError struct {
	// Resources has the objects that still exist, in the order in which they were to be
	// deleted. They include pods of deleted workloads.
	Resources []*Resource `json:"resources"`
	// NotDeleted has the IDs of the nodes that were not deleted.
	NotDeleted []string `json:"notDeleted,omitempty"`
	// Cause is the cause of the context of the deletion, if that context ended; otherwise
	// nil.
	Cause error `json:"-"`
}

// Error returns the summary, followed by lines with the details.
func (e *RemovalError) Error() string {
	lines := []string{e.Summary()}
	for i, f := range e.Resources {
		if len(e.Resources) > 1 && i < maxInDetail {
			lines = append(lines, "  "+f.Error())
		}
		if next := i + 1; f.Remedy != "" && (next == len(e.Resources) || e.Resources[next].Remedy != f.Remedy) {
			lines = append(lines, "  "+f.Remedy)
		}
	}
	if len(e.NotDeleted) > 0 {
		lines = append(lines, "not deleted (blocked by this failure): "+text.List(e.NotDeleted, maxNamed))
	}
	return strings.Join(lines, "\n")
}

// Summary names the objects that still exist in one line.
func (e *RemovalError) Summary() string {
	switch len(e.Resources) {
	case 0:
		if e.Cause == nil {
			return "the deletion did not finish"
		}
		return e.Cause.Error()
	case 1:
		return text.OneLine(e.Resources[0].Error())
	}
	return fmt.Sprintf("%d resources still exist: %s", len(e.Resources), text.List(names(e.Resources, (*Resource).subject), maxInSummary))
}

// Unwrap returns each failure, and Cause if it is not nil.
func (e *RemovalError) Unwrap() []error { return unwrap(e.Resources, e.Cause) }

// MarshalJSON adds the summary to the fields.
func (e *RemovalError) MarshalJSON() ([]byte, error) {
	type plain RemovalError
	return json.Marshal(struct {
		Summary string `json:"summary"`
		*plain
	}{e.Summary(), (*plain)(e)})
}
