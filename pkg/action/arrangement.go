// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"

	"github.com/ordered-helm/helm/internal/argocd"
	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/planner"
	"github.com/ordered-helm/helm/internal/render"
)

// Arrangement says how a dry run prints the order of a chart. Other tools that deploy the
// printed manifests can use it (docs/reference.md, "Template").
type Arrangement string

const (
	// ArrangeStock prints the manifest in Helm's order of kinds. It is the default.
	ArrangeStock Arrangement = ""
	// ArrangeOrdered prints the manifest in deployment order. Comments mark the start and
	// the end of each layer.
	ArrangeOrdered Arrangement = "ordered"
	// ArrangeArgoCD prints the manifest in deployment order and adds Argo CD's annotations
	// to its objects and to the hooks, without the comments of ArrangeOrdered.
	ArrangeArgoCD Arrangement = "argocd"
)

// WithoutMarkers removes the comments that ArrangeOrdered adds around layers from one
// document.
func WithoutMarkers(document string) string { return render.WithoutMarkers(document) }

// arrange changes the rendered documents to the form that the field Arrange requests. It
// does nothing for ArrangeStock.
func (r *installRun) arrange(rendered *planner.Rendered) error {
	i := r.action
	if i.Arrange == ArrangeStock {
		return nil
	}
	if !r.mode.isDryRun() || !i.ordered() {
		return errors.New("the field Arrange requires a dry run with WaitStrategyOrdered")
	}
	// As in Helm, the files in OutputDir contain the documents as they were before the
	// post-renderer changed them.
	docs, err := rendered.Documents(r.planner.Root, i.IncludeCRDs, i.OutputDir != "")
	if err != nil {
		return err
	}
	ordered, err := render.OrderDocuments(docs, r.planner.Root, i.Namespace)
	if err != nil {
		return err
	}
	if i.Arrange == ArrangeArgoCD {
		if err := r.sequenceForArgoCD(rendered, ordered); err != nil {
			return err
		}
	}
	rendered.Files = render.Files(ordered)
	rendered.Manifest = render.Stream(ordered, i.Arrange == ArrangeOrdered)
	rendered.Charts = nil // they were in the order of the earlier manifest
	return nil
}

// sequenceForArgoCD adds annotations to the documents and to the hooks, so that Argo CD
// applies them in the order of the plan. docs must be in deployment order.
func (r *installRun) sequenceForArgoCD(rendered *planner.Rendered, docs []render.OrderedDocument) error {
	if err := argocd.SequenceDocuments(docs, rendered.Plan, r.op.Events.Warn); err != nil {
		return err
	}
	hooks, warnings, err := argocd.SequenceHooks(rendered.Hooks, r.planner.HookModes())
	if err != nil {
		return err
	}
	warn(r.op.Events, warnings)
	rendered.Hooks = hooks
	return nil
}

func warn(events *event.Sink, warnings []string) {
	for _, w := range warnings {
		events.Warn(w)
	}
}
