// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"
	"fmt"

	"github.com/ordered-helm/helm/internal/argocd"
	"github.com/ordered-helm/helm/internal/render"
)

// Arrangement is the form in which a dry run prints the order of a chart, for tools other
// than Helm that deploy it (docs/reference.md, "Template").
type Arrangement string

const (
	// ArrangeStock prints the manifest in Helm's order of kinds. It is the default.
	ArrangeStock Arrangement = ""
	// ArrangeOrdered prints the manifest in deployment order, with markers around each
	// layer.
	ArrangeOrdered Arrangement = "ordered"
	// ArrangeArgoCD is like ArrangeOrdered, with Argo CD's annotations in the manifest and
	// the hooks instead of markers.
	ArrangeArgoCD Arrangement = "argocd"
)

// WithoutMarkers removes the markers of ArrangeOrdered from one document.
func WithoutMarkers(document string) string { return render.WithoutMarkers(document) }

// arrange sorts the rendered documents into deployment order.
func (r *installRun) arrange(result *render.Result) error {
	if r.action.Arrange == ArrangeStock {
		return nil
	}
	if !r.isDryRun() || !r.action.ordered() {
		return errors.New("SequenceAs requires a dry run with WaitStrategyOrdered")
	}
	root := r.renderer.root
	// Files are written as they were before any post-renderer ran.
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

// sequenceForArgoCD adds Argo CD's annotations to documents and hooks.
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
