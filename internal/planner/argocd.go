// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"context"

	"github.com/ordered-helm/helm/internal/argocd"
	"github.com/ordered-helm/helm/internal/render"
)

// SequenceForArgoCD adds annotations to docs and to the rendered hooks, so that Argo CD applies them in
// deployment order. docs must already be in this order. Warnings are passed to warn.
func (p *Planner) SequenceForArgoCD(ctx context.Context, rendered *Rendered, docs []render.OrderedDocument, warn func(string)) error {
	if err := argocd.SequenceDocuments(docs, rendered.Plan, warn); err != nil {
		return err
	}
	if probe, err := p.Resources(ctx, argocd.ProbeRevision); err == nil { // some charts may not render for it
		argocd.WarnRevisionNames(probe, warn)
	}
	argocd.WarnUnsupportedSteps(rendered.Plan, rendered.Hooks, p.HookModes().ChartOf, warn)
	hooks, warnings, err := argocd.SequenceHooks(rendered.Hooks, p.HookModes())
	if err != nil {
		return err
	}
	for _, w := range warnings {
		warn(w)
	}
	rendered.Hooks = hooks
	return nil
}
