// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/ordered-helm/helm/cmd/helm-controller/api/v1alpha1"
	"github.com/ordered-helm/helm/cmd/helm-controller/internal/decision"
)

// newTestRun returns a run for a request of the generation 4, which was ready before.
func newTestRun() *run {
	request := newRequest("shop", 4)
	meta.SetStatusCondition(&request.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: "True", Reason: "Deployed", ObservedGeneration: 3})
	return &run{request: request, stored: request.DeepCopy(), generation: 4, state: decision.State{Request: request, Now: time.Now()}}
}

// conditionsText returns the conditions as in "Ready=False(Forbidden) Reconciling=True(Forbidden)".
func conditionsText(r *v1alpha1.HelmRequest) string {
	var parts []string
	for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled, v1alpha1.ConditionDeployedByHand, v1alpha1.ConditionSuspended} {
		if c := meta.FindStatusCondition(r.Status.Conditions, kind); c != nil {
			parts = append(parts, kind+"="+string(c.Status)+"("+c.Reason+")")
		}
	}
	return strings.Join(parts, " ")
}

// TestConditions checks the conditions of each phase, and what programs that know kstatus conclude from them:
//   - "The conditions are those of kstatus, and two more"
//   - "Each contains the generation of the HelmRequest to which it belongs"
//   - "The condition Ready has one of these reasons, and its message says more"
//   - "The conditions Reconciling, Stalled and DeployedByHand have the same reason, and Suspended has the reason Suspended"
//   - "The other conditions stay as they were"
func TestConditions(t *testing.T) {
	for name, c := range map[string]struct {
		status decision.Status
		want   string
		state  kstatus.Status
	}{
		"ready":     {decision.Status{Phase: decision.Ready, Reason: "Deployed"}, "Ready=True(Deployed)", kstatus.CurrentStatus},
		"by hand":   {decision.Status{Phase: decision.Ready, Reason: "DeployedByHand", ByHand: true}, "Ready=True(DeployedByHand) DeployedByHand=True(DeployedByHand)", kstatus.CurrentStatus},
		"waiting":   {decision.Status{Phase: decision.Waiting, Reason: "DependencyNotReady"}, "Ready=False(DependencyNotReady) Reconciling=True(DependencyNotReady)", kstatus.InProgressStatus},
		"failing":   {decision.Status{Phase: decision.Failing, Reason: "DeploymentFailed"}, "Ready=False(DeploymentFailed) Reconciling=True(DeploymentFailed)", kstatus.InProgressStatus},
		"stalled":   {decision.Status{Phase: decision.Stalled, Reason: "RenderFailed"}, "Ready=False(RenderFailed) Stalled=True(RenderFailed)", kstatus.FailedStatus},
		"suspended": {decision.Status{Phase: decision.Suspended, Reason: "Suspended"}, "Ready=True(Deployed) Suspended=True(Suspended)", kstatus.CurrentStatus},
	} {
		t.Run(name, func(t *testing.T) {
			c.status.Message = "more about it"
			r := newTestRun()
			r.setStatus(decision.Decision{Status: &c.status})
			if got := conditionsText(r.request); got != c.want || r.request.Status.ObservedGeneration != 4 {
				t.Errorf("got %s for generation %d, want %s", got, r.request.Status.ObservedGeneration, c.want)
			}
			for _, condition := range r.request.Status.Conditions {
				written := c.status.Phase != decision.Suspended || condition.Type == v1alpha1.ConditionSuspended
				if written && (condition.ObservedGeneration != 4 || condition.Message != c.status.Message) {
					t.Errorf("condition %+v", condition)
				}
			}
			if got := kstatusOf(t, r.request); got != c.state {
				t.Errorf("kstatus is %v, want %v", got, c.state)
			}
			setProgressing(r.request, decision.Upgrade)
			if got := conditionsText(r.request); got != "Ready=Unknown(Upgrading) Reconciling=True(Upgrading)" || kstatusOf(t, r.request) != kstatus.InProgressStatus {
				t.Errorf("during an operation: got %s", got)
			}
		})
	}
}

// kstatusOf returns the state of a request according to kstatus.
func kstatusOf(t *testing.T, r *v1alpha1.HelmRequest) kstatus.Status {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(r)
	if err != nil {
		t.Fatal(err)
	}
	result, err := kstatus.Compute(&unstructured.Unstructured{Object: content})
	if err != nil {
		t.Fatal(err)
	}
	return result.Status
}

// TestReasonsOfOperations checks the reasons of the conditions while an operation runs.
func TestReasonsOfOperations(t *testing.T) {
	for action, want := range map[decision.Action]string{
		decision.Install: "Installing", decision.Upgrade: "Upgrading", decision.Rollback: "RollingBack", decision.Uninstall: "Uninstalling",
	} {
		r := newTestRun()
		setProgressing(r.request, action)
		if got := conditionsText(r.request); got != "Ready=Unknown("+want+") Reconciling=True("+want+")" {
			t.Errorf("%s: got %s", action, got)
		}
	}
}

// TestAttempts checks what the status says about failures:
//   - "The number of failures is counted until the HelmRequest is ready or its spec is changed"
func TestAttempts(t *testing.T) {
	r := newTestRun()
	fail := func(phase decision.Phase) *v1alpha1.Attempt {
		r.state.Failure, r.hasBegun = &decision.Failure{Reason: "ChartUnavailable", Message: "no answer"}, false
		r.setStatus(decision.Decision{Status: &decision.Status{Phase: phase, Reason: "ChartUnavailable"}, After: time.Minute})
		return r.request.Status.LastAttempt
	}
	expect := func(a *v1alpha1.Attempt, failures int64, retried bool) {
		t.Helper()
		if a.Operation != "prepare" || a.Generation != r.request.Generation || a.Failures != failures || (a.RetryTime != nil) != retried {
			t.Errorf("the attempt is %+v, want %d failures", *a, failures)
		}
	}
	expect(fail(decision.Failing), 1, true)
	expect(fail(decision.Failing), 2, true)
	if got := r.request.Status.LastError; got != "no answer" {
		t.Errorf("the last error is %q", got)
	}
	r.request.Generation++
	expect(fail(decision.Failing), 1, true)
	expect(fail(decision.Stalled), 2, false)
	r.state.Failure = nil
	r.setStatus(decision.Decision{Status: &decision.Status{Phase: decision.Ready, Reason: "Deployed"}})
	expect(r.request.Status.LastAttempt, 0, false)
	if got := r.request.Status.LastError; got != "" {
		t.Errorf("the last error is still %q", got)
	}
}

// TestIsReady checks when other HelmRequests can depend on one:
//   - "they exist, are not being deleted, and their condition Ready is true for their current generation"
//   - "Setting suspend changes the generation, so a HelmRequest does not count as ready after it was suspended"
func TestIsReady(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*v1alpha1.HelmRequest)
		want   bool
	}{
		"ready":     {func(*v1alpha1.HelmRequest) {}, true},
		"not ready": {func(r *v1alpha1.HelmRequest) { r.Status.Conditions[0].Status = "False" }, false},
		"new":       {func(r *v1alpha1.HelmRequest) { r.Status.Conditions = nil }, false},
		"suspended": {func(r *v1alpha1.HelmRequest) { r.Generation++ }, false},
		"deleted": {func(r *v1alpha1.HelmRequest) {
			now := metav1.Now()
			r.DeletionTimestamp = &now
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			request := newRequest("shop", 4)
			meta.SetStatusCondition(&request.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: "True", Reason: "Deployed", ObservedGeneration: 4})
			c.change(request)
			if got := isReady(request); got != c.want {
				t.Errorf("got %t, want %t", got, c.want)
			}
		})
	}
}

// TestTruncate checks the limits of texts in the status:
//   - "message of a condition | 1,024 bytes; longer ones are cut"
//   - "lastError | 16 KiB"
func TestTruncate(t *testing.T) {
	long := strings.Repeat("ä", 20000)
	r := newTestRun()
	r.state.Failure = &decision.Failure{Message: long}
	r.setStatus(decision.Decision{Status: &decision.Status{Phase: decision.Failing, Reason: "OperationFailed", Message: long}})
	for limit, text := range map[int]string{1024: r.request.Status.Conditions[0].Message, 16 << 10: r.request.Status.LastError} {
		if len(text) > limit || len(text) < limit-4 || !utf8.ValidString(text) || !strings.HasSuffix(text, "…") {
			t.Errorf("limit %d: got %d bytes that end with %q", limit, len(text), text[len(text)-8:])
		}
	}
	if got := truncate("short", 10); got != "short" {
		t.Errorf("got %q", got)
	}
}
