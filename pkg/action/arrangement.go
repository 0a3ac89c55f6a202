// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"
	"fmt"

	"github.com/ordered-helm/helm/internal/argocd"
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

// arrange changes the rendered result to the form that the field Arrange requests. It does
// nothing for ArrangeStock.
func (r *installRun) arrange(result *render.Result) error {
	if r.action.Arrange == ArrangeStock {
		return nil
	}
	if !r.isDryRun() || !r.action.ordered() {
		return errors.New("SequenceAs requires a dry run with WaitStrategyOrdered")
	}
	root := r.renderer.root
	// As in Helm, the files in OutputDir contain the documents as they were before the
	// post-renderer changed them.
	docs, err := result.Documents(root, r.action.IncludeCRDs, r.action.OutputDir != "")
	if err != nil {
		return err
	}
	ordered, err := render.OrderDocuments(docs, root, r.action.Namespace)
	if err != nil {
		return err
	}
	if r.action.Arrange == ArrangeArgoCD {
		if err := r.sequenceForArgoCD(result, ordered); err != nil {
			return err
		}
	}
	result.Files = render.Files(ordered)
	result.Manifest = render.Stream(ordered, r.action.Arrange == ArrangeOrdered)
	r.renderer.documents = nil
	return nil
}

// sequenceForArgoCD adds annotations to the documents and to the hooks of result, so that
// Argo CD applies them in the order of the plan: a document gets the number of a wave, a
// hook also its phase. Argo CD applies one wave after the other. docs must be in deployment
// order.
func (r *installRun) sequenceForArgoCD(result *render.Result, docs []render.OrderedDocument) error {
	places := make([]argocd.Place, len(docs))
	judged := 0
	for i, d := range docs {
		places[i].Level = -1
		if d.Node != nil {
			places[i].Level = d.Node.Level
		}
		for _, object := range d.Objects {
			places[i].Own = max(places[i].Own, argocd.OwnWave(object))
		}
		if len(d.Objects) == 1 {
			places[i].Own = argocd.OwnWave(d.Objects[0])
		}
	}
	for i, wave := range argocd.Waves(places) {
		d := &docs[i]
		if len(d.Objects) > 0 && argocd.IsHook(d.Objects[0]) {
			r.op.Events.Warnf("%s: it is already an Argo CD hook, to which layers do not apply: it is left unchanged", d.File)
			continue
		}
		var err error
		if d.Text, err = argocd.Sequence(d.Text, wave); err != nil {
			return fmt.Errorf("%s: %w", d.File, err)
		}
	}
	for _, n := range r.renderer.plan.Nodes {
		for _, r := range n.Resources {
			if len(r.Success)+len(r.Failure) > 0 {
				judged++
			}
		}
	}
	if judged > 0 {
		r.op.Events.Warnf("%d resources have readiness expressions, which Argo CD does not support: it uses its own health checks", judged)
	}
	hooks, warnings, err := argocd.SequenceHooks(result.Hooks, render.HookModes(r.renderer.root, r.action.Namespace))
	if err != nil {
		return err
	}
	for _, w := range warnings {
		r.op.Events.Warn(w)
	}
	result.Hooks = hooks
	return nil
}
