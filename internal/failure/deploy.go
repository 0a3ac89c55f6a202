// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/text"
)

// DeployError reports why a release is not deployed: the resources that failed or timed
// out, the causes, and the nodes that were skipped. A node is a set of resources that are
// deployed together. The first line of the text is a summary, and the following lines have
// the details (docs/reference.md, "Failure reports").
type DeployError struct {
	// Resources has the failed resources, in the order of the plan.
	Resources []*Resource `json:"resources"`
	// Unfinished has the resources, as in "Deployment/db", that were not ready when another
	// failure ended the operation.
	Unfinished []string `json:"unfinished,omitempty"`
	// NeverStarted has the IDs of the nodes that were never started.
	NeverStarted []string `json:"neverStarted,omitempty"`
	// Cause is the cause of the context of the operation, if that context ended; otherwise
	// nil.
	Cause error `json:"-"`
}

// Error returns the summary, followed by lines with the details.
func (e *DeployError) Error() string {
	var b strings.Builder
	b.WriteString(e.Summary())
	node := ""
	for i, f := range e.Resources {
		if i == maxInDetail {
			writeMore(&b, e.Resources[i:])
			break
		}
		if f.Title != node || i == 0 {
			node = f.Title
			b.WriteString("\n")
			if node != "" {
				b.WriteString(node + ":\n")
			}
		}
		f.writeDetail(&b)
		if next := i + 1; f.Remedy != "" && (next == len(e.Resources) || next == maxInDetail || e.Resources[next].Remedy != f.Remedy) {
			fmt.Fprintf(&b, "    %s\n", f.Remedy)
		}
	}
	line := strings.TrimRight(b.String(), "\n")
	if len(e.Unfinished) > 0 {
		line += "\nnot ready yet when the operation ended: " + text.List(e.Unfinished, maxNamed)
	}
	if len(e.NeverStarted) > 0 {
		line += "\nskipped (blocked by this failure): " + text.List(e.NeverStarted, maxNamed)
	}
	return line
}

// Summary describes the failures in one line.
func (e *DeployError) Summary() string { return text.Truncate(maxSummary, e.summary()) }

func (e *DeployError) summary() string {
	switch len(e.Resources) {
	case 0:
		if e.Cause == nil {
			return "the operation did not finish"
		}
		return e.Cause.Error()
	case 1:
		return e.Resources[0].Error()
	}
	states := map[string]int{}
	for _, f := range e.Resources {
		states[f.State]++
	}
	verb := "are not ready"
	switch {
	case states[string(readiness.Failed)] == len(e.Resources):
		verb = "failed"
	case states[NotApplied] == len(e.Resources):
		verb = "could not be applied"
	case errors.Is(e.Cause, context.Canceled):
		verb = "were waited for when the operation was cancelled"
	}
	return fmt.Sprintf("%d resources %s: %s", len(e.Resources), verb, text.List(names(e.Resources, (*Resource).short), maxInSummary))
}

// Unwrap returns each failure, and Cause if it is not nil.
func (e *DeployError) Unwrap() []error { return unwrap(e.Resources, e.Cause) }

// MarshalJSON adds the summary to the fields.
func (e *DeployError) MarshalJSON() ([]byte, error) {
	type plain DeployError
	return json.Marshal(struct {
		Summary string `json:"summary"`
		*plain
	}{e.Summary(), (*plain)(e)})
}
