// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"

	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/planner"
	"github.com/ordered-helm/helm/internal/render"
)

// Arrangement is the form in which a dry run of Install writes the deployment order into
// the manifest that it returns. Other tools that deploy the manifest can then use the order
// (docs/reference.md, "Template").
type Arrangement string

const (
	// ArrangeStock sorts the documents of the manifest in Helm's order of kinds, as stock
	// Helm does. It is the default.
	ArrangeStock Arrangement = ""
	// ArrangeOrdered sorts the documents in deployment order, and adds comments at the
	// start and the end of each layer. WithoutMarkers removes these comments.
	ArrangeOrdered Arrangement = "ordered"
	// ArrangeArgoCD sorts the documents in deployment order, and adds annotations to
	// resources and hooks from which Argo CD derives this order. It adds no comments.
	ArrangeArgoCD Arrangement = "argocd"
)

// WithoutMarkers returns a document of a manifest without the comments that ArrangeOrdered
// adds at the start and the end of a layer.
func WithoutMarkers(document string) string { return render.WithoutMarkers(document) }

// arrange changes the rendered documents to the form that the field Arrange selects. It
// returns an error if Arrange is set and this is not a dry run of an ordered install.
func (r *installRun) arrange(ctx context.Context, rendered *planner.Rendered) error {
	i := r.action
	if i.Arrange == ArrangeStock {
		return nil
	}
	if !r.mode.isDryRun() || !i.isOrdered() {
		return errors.New("the field Arrange requires a dry run with WaitStrategyOrdered")
	}
	// As in Helm, the files in OutputDir contain the documents as they were before the
	// post-renderer changed them.
	docs, err := rendered.Documents(r.planner.Root, i.IncludeCRDs, i.OutputDir != "")
	if err != nil {
		return err
	}
	plan := rendered.Plan
	if rendered.Changed() {
		if plan, err = r.planner.DocumentsPlan(docs); err != nil {
			return err
		}
	}
	ordered, err := render.OrderDocuments(docs, plan)
	if err != nil {
		return err
	}
	if i.Arrange == ArrangeArgoCD {
		if err := r.planner.SequenceForArgoCD(ctx, rendered, ordered, r.op.Events.Warn); err != nil {
			return err
		}
	}
	rendered.Files = render.Files(ordered)
	rendered.Manifest = render.Stream(ordered, i.Arrange == ArrangeOrdered)
	rendered.Charts = nil // it describes the documents in their previous order
	return nil
}

func warn(events *event.Sink, warnings []string) {
	for _, w := range warnings {
		events.Warn(w)
	}
}
