// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"testing"

	"github.com/ordered-helm/helm/test/harness"
)

func TestReadinessOfJobs(t *testing.T) {
	t.Parallel()
	of := func(play string, spec ...string) string {
		return workload{kind: "Job", play: play, spec: spec}.manifest()
	}
	// A Job that fails permanently must be reported long before this timeout.
	patient := []string{"helm.sh/readiness-timeout: 50s"}
	runReadiness(t, "job", []readinessCase{
		{name: "complete", manifest: of("")},
		{name: "that runs is not ready before it is complete", manifest: of(slowly), through: hasField("status.ready", "1")},
		{name: "of two pods is ready when both are done", manifest: of("", "completions: 2"), ready: all(hasField("status.succeeded", "2"), harness.HasCondition("Complete", "True", ""))},
		{
			name:     "whose container fails at first",
			manifest: workload{kind: "Job", play: exitsOnce + `, devcluster/times: "1"`, pod: "restartPolicy: OnFailure, " + mainContainer}.manifest(),
		},
		{
			name: "that is resumed", manifest: of("", "suspend: true"), through: harness.HasCondition("Suspended", "True", ""),
			play: changed(harness.HasCondition("Suspended", "True", ""), `{"spec":{"suspend":false}}`),
		},
		{name: "gone after its success", manifest: of(slowly, "ttlSecondsAfterFinished: 0")},
		{name: "that failed ends the waiting at once", manifest: of(exitsOnce, "backoffLimit: 0"), annotations: patient, fails: true},
		{name: "past its own deadline ends the waiting at once", manifest: of(never, "activeDeadlineSeconds: 1"), annotations: patient, fails: true},
		{name: "that failed and is gone", manifest: of(exitsOnce, "backoffLimit: 0", "ttlSecondsAfterFinished: 0"), annotations: patient, fails: true, says: []string{"Job/web failed: ", "Job has reached the specified backoff limit"}},
		{name: "suspended", manifest: of("", "suspend: true"), fails: true},
		{name: "that takes too long", manifest: of("devcluster/after: 30s"), fails: true},
		{name: "that fails again and again", manifest: of(exitsOnce, "backoffLimit: 5"), fails: true},
		{name: "with an image that cannot be pulled", manifest: of(noImage), fails: true},
		{name: "that fits on no node", manifest: workload{kind: "Job", pod: unschedulablePod}.manifest(), fails: true},
		{name: "that exceeds the quota", manifest: of(""), before: withQuota, fails: true},
	})
}

func TestReadinessOfCronJobs(t *testing.T) {
	t.Parallel()
	of := func(more string) string {
		return "{apiVersion: batch/v1, kind: CronJob, metadata: {name: web}, spec: {schedule: '0 0 1 1 *', " + more +
			"jobTemplate: {spec: {template: {spec: {restartPolicy: Never, " + mainContainer + "}}}}}}"
	}
	runReadiness(t, "cronjob", []readinessCase{
		{name: "is ready at once", manifest: of(""), ready: always, unwatched: true},
		{name: "suspended is ready at once", manifest: of("suspend: true, "), ready: always, unwatched: true},
	})
}
