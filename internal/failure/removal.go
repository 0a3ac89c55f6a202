// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ordered-helm/helm/internal/text"
)

// RemovalError reports which objects could not be deleted in order or still existed after
// the timeout, and which nodes of the deployment graph were therefore not deleted. The
// first line of its text is a summary, and the following lines contain the details
// (docs/reference.md, "Failure reports").
type RemovalError struct {
	// Resources contains the objects that still exist, including pods of deleted workloads,
	// in the order of deletion.
	Resources []*Resource `json:"resources"`
	// NotDeleted contains the IDs of the nodes that were not deleted because of the
	// failures.
	NotDeleted []string `json:"notDeleted,omitempty"`
	// Cause is the cause of the context of the deletion if that context is done; otherwise
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

// Summary names the objects that still exist, in one line.
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

// Unwrap returns Resources and, if it is not nil, Cause.
func (e *RemovalError) Unwrap() []error { return unwrap(e.Resources, e.Cause) }

// MarshalJSON encodes the fields and, as "summary", the result of Summary.
func (e *RemovalError) MarshalJSON() ([]byte, error) {
	type plain RemovalError
	return json.Marshal(struct {
		Summary string `json:"summary"`
		*plain
	}{e.Summary(), (*plain)(e)})
}
