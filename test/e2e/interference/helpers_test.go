// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package interference

import (
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// expectFailed checks the statuses of the stored revisions, and that the description of the
// last one contains all of want.
func expectFailed(tb testing.TB, h *harness.Helm, statuses string, want ...string) {
	tb.Helper()
	h.ExpectStatuses(tb, "rel", statuses)
	harness.ExpectContains(tb, h.LastRevision(tb, "rel").Info.Description, want...)
}

// slowThreeLayers writes charts.ThreeLayers with a Deployment that becomes ready after the
// given time.
func slowThreeLayers(tb testing.TB, value, after string) string {
	tb.Helper()
	objects := charts.ThreeLayerObjects(value)
	objects[1].PodAnnotations = []string{`devcluster/after: "` + after + `"`}
	return charts.Write(tb, objects...)
}
