// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/cmd/helm-controller/api/v1alpha1"
)

// failures are HelmRequests for which something has failed.
//   - "The number of failures is counted until the HelmRequest is ready or its spec is changed"
//   - "A change of the spec or of the annotation helm.sh/reconcile ends a pause immediately"
//   - "If the correction fails, Ready becomes false, and the correction is repeated as any other operation"
//   - "It also ends the pause before a retry"
//   - "An operation during which the controller was killed counts as failed"
func failures() []decisionCase {
	temporary := Failure{Reason: "DeploymentFailed", Message: "not ready"}
	permanent := Failure{Reason: "RenderFailed", Message: "nil pointer", IsPermanent: true}
	return []decisionCase{
		{name: "first failure", state: newState(failed(temporary)), action: Report, phase: Failing, reason: "DeploymentFailed", after: 5 * time.Second, says: "not ready"},
		{name: "fourth failure", state: newState(failing, failed(temporary)), action: Report, phase: Failing, reason: "DeploymentFailed", after: 40 * time.Second},
		{name: "first failure after a change", state: newState(failing, changed, failed(temporary)), action: Report, phase: Failing, reason: "DeploymentFailed", after: 5 * time.Second},
		{name: "permanent failure", state: newState(failed(permanent)), action: Report, phase: Stalled, reason: "RenderFailed"},
		{name: "permanent failure with interval", state: newState(interval(time.Minute, 0), failed(permanent)), action: Report, phase: Stalled, reason: "RenderFailed", after: time.Minute},
		{name: "back-off", state: newState(failing), action: Report, after: 20 * time.Second},
		{name: "back-off ends with a change", state: newState(failing, changed), action: ReadRelease},
		{name: "back-off ends with the annotation", state: newState(failing, annotated), action: ReadRelease},
		{name: "interval does not end a back-off", state: newState(failing, interval(10*time.Second, time.Hour)), action: Report, after: 20 * time.Second},
		{name: "back-off is over", state: newState(failing, func(s *State) { s.Now = s.Now.Add(20 * time.Second) }), action: ReadRelease},
		{name: "correcting drift fails", state: newState(deployed, interval(time.Hour, 2*time.Hour), failed(temporary)), action: Report, phase: Failing, reason: "DeploymentFailed", after: 5 * time.Second},
		{name: "killed during an operation", state: newState(failing, func(s *State) { setCondition(s, v1alpha1.ConditionReady, "Unknown", "Upgrading") }), action: Report, after: 20 * time.Second},
		{name: "correcting drift has failed", state: newState(failing, interval(time.Hour, time.Minute), func(s *State) {
			s.Request.Status.LastAttempt.Operation, s.Now = string(CorrectDrift), s.Now.Add(20*time.Second)
		}, stored(3, release.StatusDeployed), desired("a", true)), action: CorrectDrift, phase: Ready, reason: ReasonDeployed, after: time.Hour},
	}
}

// TestBackoff checks the pauses after failures.
//   - "What has failed is repeated after 5 seconds, then after twice the time of the last pause, up to 10 minutes"
func TestBackoff(t *testing.T) {
	want := 5 * time.Second
	for failures := int64(1); failures < 100; failures++ {
		if got := Backoff(failures); got != want {
			t.Errorf("%d failures: got %s, want %s", failures, got, want)
		}
		want = min(2*want, 10*time.Minute)
	}
}
