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
		r.event(ctx, "DriftCorrected", "corrected %s of release %s", strings.Join(changed, ", "), r.request.ReleaseName())
	}
	return err
}
