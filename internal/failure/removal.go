// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ordered-helm/helm/internal/text"
)

// RemovalError says what could not be deleted in order, or was not gone in time, and
// what was not deleted because of that (docs/reference.md, "When it fails"). Its text is
// one line, and one more for each further thing that is known.
type RemovalError struct {
	// Resources are what is not gone, in the order of the removal, including pods of
	// deleted workloads.
	Resources []*Resource `json:"resources"`
	// NotDeleted are the IDs of the nodes that were not deleted.
	NotDeleted []string `json:"notDeleted,omitempty"`
	// Cause is why the removal ended, where it was ended from outside.
	Cause error `json:"-"`
}

// Error is Summary, and what is known in detail on the lines after it.
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

// Summary says in one line what is not gone.
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
	return fmt.Sprintf("%d resources still exist: %s", len(e.Resources), text.List(subjects(e.Resources), maxInSummary))
}

// Unwrap returns the failures one by one, and what ended the removal.
func (e *RemovalError) Unwrap() []error { return unwrap(e.Resources, e.Cause) }

// MarshalJSON adds the first line of the text.
func (e *RemovalError) MarshalJSON() ([]byte, error) {
	type plain RemovalError
	return json.Marshal(struct {
		Summary string `json:"summary"`
		*plain
	}{e.Summary(), (*plain)(e)})
}
