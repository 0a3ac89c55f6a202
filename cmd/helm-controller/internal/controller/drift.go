// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"slices"
	"strings"

	"github.com/ordered-helm/helm/pkg/action"
)

// correctDrift changes the objects of the release back to their declared state.
func (r *run) correctDrift(ctx context.Context) error {
	c := action.NewCorrectDrift(r.cfg)
	c.Timeout, c.OnEvent = r.timeout(), r.logEvents(ctx)
	corrected, err := c.RunWithContext(ctx, r.request.ReleaseName())
	if corrected == nil {
		return err
	}
	if changed := slices.Concat(corrected.Created, corrected.Changed); len(changed) > 0 {
		r.event(ctx, "DriftCorrected", "corrected %s of release %s", strings.Join(withCauses(changed, corrected.Drift), ", "), r.request.ReleaseName())
	}
	return err
}

// withCauses returns the names of corrected objects, each with the fields that differed and the
// managers that had set them, as in "Deployment/shop (spec.replicas, set by kubectl-edit)".
func withCauses(names []string, drifted []action.DriftedObject) []string {
	causes := map[string]string{}
	for _, o := range drifted {
		causes[o.String()] = o.Cause()
	}
	described := make([]string, len(names))
	for i, name := range names {
		described[i] = name
		if cause := causes[name]; cause != "" {
			described[i] += " (" + cause + ")"
		}
	}
	return described
}
