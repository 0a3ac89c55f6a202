// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/hookrunner"
	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// Plan is how a release deploys: the graph of its resources, and its hooks
// (docs/reference.md, "helm dag").
type Plan struct {
	*sequencer.Plan
	// Hooks are the hooks of each event that has any, in the order in which events
	// may come.
	Hooks []HookPlan
}

// HookPlan is how the hooks of one event run.
type HookPlan = hookrunner.Plan

// ReleasePlan rebuilds the plan by which a release was deployed from what the
// release remembers; nil if it was not deployed in order (docs/reference.md, "The
// release record").
func ReleasePlan(rel *release.Release) (*Plan, error) {
	plan, rec, err := storedPlan(rel)
	if err != nil || plan == nil {
		return nil, err
	}
	return &Plan{Plan: plan, Hooks: hookrunner.Plans(rel.Hooks, render.HookModes(rec.Charts, rel.Namespace))}, nil
}
