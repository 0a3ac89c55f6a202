// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// TestStandstill checks how long resources without a readiness timeout are waited for: all of
// those that become ready need more than the ten seconds that they can stand still.
func TestStandstill(t *testing.T) {
	t.Parallel()
	unlimited := []string{noTimeout}
	runReadiness(t, "standstill", []readinessCase{
		{
			name: "pods become ready one after another", annotations: unlimited,
			manifest: workload{kind: "StatefulSet", play: "devcluster/after: 4s", spec: []string{"replicas: 3"}}.manifest(),
		},
		{
			name: "an image is pulled for a while", annotations: unlimited,
			manifest: workload{kind: "Deployment", play: "devcluster/pull: 13s"}.manifest(),
		},
		{
			name: "the image of a Pod is pulled for a while", annotations: unlimited,
			manifest: barePod("devcluster/pull: 13s"),
		},
		{name: "a Job runs for a while", annotations: unlimited, manifest: workload{kind: "Job", play: "devcluster/after: 12s"}.manifest()},
		{
			name: "a crash loop", annotations: unlimited, fails: true,
			manifest: workload{kind: "Deployment", play: crashes}.manifest(),
		},
		{
			name: "a written timeout counts as written", annotations: []string{"helm.sh/readiness-timeout: 5s"}, fails: true,
			manifest: workload{kind: "StatefulSet", play: "devcluster/after: 4s", spec: []string{"replicas: 3"}}.manifest(),
			says:     []string{"StatefulSet/web was not ready within 5s"},
		},
		{
			name: "the timeout of the operation counts", annotations: unlimited, args: []string{"--timeout", "9s"}, fails: true,
			manifest: workload{kind: "Job", play: "devcluster/after: 1h"}.manifest(),
			says:     []string{"Job/web was not ready when the operation timed out after 9s"},
		},
		{
			name: "without permission to read pods", annotations: unlimited, args: limitedUser, fails: true,
			manifest: workload{kind: "Deployment", play: "devcluster/pull: 1h"}.manifest(),
			before:   func(tb testing.TB, s *caseRun) { tb.Helper(); s.allowOnly(tb, "secrets", "configmaps", "deployments") },
			says:     []string{"Deployment/web stood still for 10s"},
		},
	})
}

// TestUnlimitedAfterFailure checks that resources without a limit are waited for only a
// little longer after another resource has failed, and that they are reported as not finished.
func TestUnlimitedAfterFailure(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	chart := charts.Write(t,
		charts.Object{Kind: "Job", Name: "failing", Layer: "failing", PodAnnotations: []string{"devcluster/pod: fail"}},
		charts.Object{Kind: "Job", Name: "beside", Layer: "failing", PodAnnotations: []string{"devcluster/after: 1h"}},
		charts.Object{Kind: "Job", Name: "long", Layer: "long", PodAnnotations: []string{"devcluster/after: 1h"}},
		charts.Last("failing,long"),
	)
	h.ExpectFailure(t, []string{"install", "rel", chart, "--wait=ordered", "--timeout", "1m"}, "Job/failing failed: ", "not ready yet when the operation ended: Job/beside, Job/long")
}
