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

// DeployError reports why a release could not be deployed: the resources that failed or
// timed out, the causes, and the nodes of the deployment graph that were skipped. A node is
// a set of resources that are deployed as a unit. The first line of the text is a summary,
// and the following lines contain the details (docs/reference.md, "Failure reports").
type DeployError struct {
	// Resources contains the resources that failed, in the order of deployment.
	Resources []*Resource `json:"resources"`
	// Unfinished names the resources, as in "Deployment/db", that were not ready yet when
	// another failure ended the operation.
	Unfinished []string `json:"unfinished,omitempty"`
	// NeverStarted contains the IDs of the nodes that were skipped because of the failures.
	NeverStarted []string `json:"neverStarted,omitempty"`
	// Cause is the cause of the operation's context if that context is done, for example
	// because of a timeout; otherwise nil.
	Cause error `json:"-"`
}

// Error returns the summary, followed by lines with the details.
func (e *DeployError) Error() string {
	var b strings.Builder
	summary := e.Summary()
	b.WriteString(summary)
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
		f.writeDetail(&b, summary)
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
	verb, resources := "are not ready", text.List(names(e.Resources, (*Resource).short), maxInSummary)
	switch {
	case states[string(readiness.Failed)] == len(e.Resources):
		verb = "failed"
	case states[NotApplied] == len(e.Resources):
		verb = "could not be applied"
	case errors.Is(e.Cause, context.Canceled):
		return fmt.Sprintf("the operation was cancelled while waiting for %d resources: %s", len(e.Resources), resources)
	}
	return fmt.Sprintf("%d resources %s: %s", len(e.Resources), verb, resources)
}

// Unwrap returns Resources and, if it is not nil, Cause.
func (e *DeployError) Unwrap() []error { return unwrap(e.Resources, e.Cause) }

// MarshalJSON encodes the fields and, as "summary", the result of Summary.
func (e *DeployError) MarshalJSON() ([]byte, error) {
	type plain DeployError
	return json.Marshal(struct {
		Summary string `json:"summary"`
		*plain
	}{e.Summary(), (*plain)(e)})
}
