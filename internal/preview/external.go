// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"
	"fmt"
	"strings"

	"github.com/ordered-helm/helm/internal/externalneed"
	"github.com/ordered-helm/helm/internal/externalwait"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// External describes an external dependency, and how it stands.
type External struct {
	// Dependency names the dependency as it is declared, for example "Secret/registry".
	Dependency string `json:"dependency"`
	// Chart is the path of the chart that depends on it. Node is the ID of the node, or empty if the whole
	// chart does.
	Chart string `json:"chart"`
	Node  string `json:"node,omitempty"`
	// Ready says whether the object is ready, or the release is deployed. If not, State and Message say why.
	Ready   bool   `json:"ready"`
	State   string `json:"state,omitempty"`
	Message string `json:"message,omitempty"`
}

// addExternal adds the external dependencies of a plan to Preview.External. plan can be nil.
func (b *Builder) addExternal(ctx context.Context, namespace string, plan *sequencer.Plan) error {
	if plan == nil {
		return nil
	}
	var needs []externalneed.Need
	for _, s := range plan.Steps {
		for _, n := range s.Needs() {
			needs = append(needs, n)
			e := External{Dependency: n.String(), Chart: s.Chart}
			if s.Node != nil {
				e.Node = s.Node.ID()
			}
			b.preview.External = append(b.preview.External, e)
		}
	}
	if len(needs) == 0 {
		return nil
	}
	waiter := b.op.ExternalWaiter(namespace, nil)
	defer waiter.Close()
	statuses, err := waiter.Check(ctx, needs)
	if err != nil {
		return fmt.Errorf("read the external dependencies: %w", err)
	}
	for i, s := range statuses {
		b.preview.External[i].setStatus(s)
	}
	return nil
}

func (e *External) setStatus(s externalwait.Status) {
	e.Ready, e.State, e.Message = s.State == readiness.Ready, string(s.State), s.Message
	if s.Denied != nil {
		e.Message = s.Denied.Error()
	}
}

// addSkipped adds the resources that do not take part in the operation to Preview.Skipped. plan can be nil.
func (b *Builder) addSkipped(plan *sequencer.Plan) {
	if plan == nil {
		return
	}
	for _, r := range plan.Skipped {
		b.preview.Skipped = append(b.preview.Skipped, Object{
			Action: Skip, APIVersion: r.APIVersion, Kind: r.ID.Kind, Namespace: r.ID.Namespace, Name: r.ID.Name,
			Note: "helm.sh/deploy-on: " + strings.Join(r.DeployOn, ", "),
		})
	}
}
