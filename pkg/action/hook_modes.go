// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/hookrunner"
	"github.com/ordered-helm/helm/internal/releaserecord"
	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// checkParallelHooks refuses a limit that is none.
func checkParallelHooks(limit int) error {
	if limit < 0 {
		return fmt.Errorf("at most %d hooks at once is no limit: 0 is none", limit)
	}
	return nil
}

// runsHooksInParallel reports whether any chart's hooks run in another way than
// Helm's.
func runsHooksInParallel(c *sequencer.Chart) bool {
	return c.HookMode != "" || slices.ContainsFunc(c.Subcharts, runsHooksInParallel)
}

// storedHookModes is how the hooks of a stored release run. Where it cannot be
// known, they run in Helm's order.
func storedHookModes(rel *release.Release, e *events) hookrunner.Modes {
	rec, err := releaserecord.Read(rel)
	if err != nil {
		e.warn(fmt.Sprintf("hooks run one after the other: %v", err))
	}
	if rec == nil {
		return hookrunner.Modes{}
	}
	return render.HookModes(rec.Charts, rel.Namespace)
}
