// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/watcher"
)

// databaseFailure returns the failure of a Deployment that timed out.
func databaseFailure() *Resource {
	return &Resource{
		Resource: "Deployment/db", Namespace: "shop", File: "shop/templates/db.yaml", Node: "shop:database", Title: `layer "database" of chart shop`,
		State: "InProgress", Reason: "LessAvailable", Message: "Available: 0/1", Waited: 10 * time.Second,
		Causes: []Cause{{
			Object: "Pod shop/db-1", Container: "app", Reason: "CrashLoopBackOff", Message: "exited with code 1, restarted 4 times",
			Log: []string{"connecting", "panic: no such host"}, Count: 3,
		}},
		Remedy:  "to allow more time, increase --timeout",
		Outcome: "was not ready within 10s", Err: errors.New("late"),
	}
}

// jobFailure returns the failure of a Job.
func jobFailure() *Resource {
	return &Resource{
		Resource: "Job/migrate", Namespace: "shop", File: "shop/templates/job.yaml", Node: "shop:migration", Title: `layer "migration" of chart shop`,
		State: "Failed", Reason: "BackoffLimitExceeded", Message: "Job has reached\nthe specified backoff limit", Outcome: "failed", Waited: 3 * time.Second,
	}
}

// TestDeployErrorText checks the text of the errors of deployments.
func TestDeployErrorText(t *testing.T) {
	many := &DeployError{}
	for i := range 22 {
		many.Resources = append(many.Resources, &Resource{Resource: fmt.Sprintf("Pod/p%d", i), State: "InProgress", Reason: "Pending", Outcome: "was not ready"})
		many.NeverStarted = append(many.NeverStarted, fmt.Sprintf("app:l%d", i))
	}
	for _, c := range []struct {
		name, summary string
		err           *DeployError
		text          string
	}{
		{"one", "Deployment/db was not ready within 10s: Pod shop/db-1 container app: CrashLoopBackOff: exited with code 1, restarted 4 times (same on 2 more pods)",
			&DeployError{Resources: []*Resource{databaseFailure()}, NeverStarted: []string{"shop:web", "shop"}}, `
layer "database" of chart shop:
  Deployment/db (shop/templates/db.yaml): Available: 0/1
    Pod shop/db-1 container app:
      | connecting
      | panic: no such host
    to allow more time, increase --timeout
skipped (blocked by this failure): shop:web, shop`},
		{"failed", "Job/migrate failed: Job has reached the specified backoff limit",
			&DeployError{Resources: []*Resource{jobFailure()}, Unfinished: []string{"Pod/a", "Pod/b"}}, `
layer "migration" of chart shop:
  Job/migrate (shop/templates/job.yaml) failed: Job has reached
    the specified backoff limit
not ready yet when the operation ended: Pod/a, Pod/b`},
		{"two", "2 resources are not ready: Deployment/db (CrashLoopBackOff), Job/migrate (BackoffLimitExceeded)",
			&DeployError{Resources: []*Resource{databaseFailure(), jobFailure()}}, `
layer "database" of chart shop:
  Deployment/db (shop/templates/db.yaml) was not ready within 10s: Available: 0/1
    Pod shop/db-1 container app: CrashLoopBackOff: exited with code 1, restarted 4 times (same on 2 more pods)
      | connecting
      | panic: no such host
    to allow more time, increase --timeout

layer "migration" of chart shop:
  Job/migrate (shop/templates/job.yaml) failed: Job has reached
    the specified backoff limit`},
		{"cancelled before anything was waited for", "context canceled",
			&DeployError{NeverStarted: []string{"shop"}, Cause: context.Canceled}, `
skipped (blocked by this failure): shop`},
		{"cancelled while several were waited for", "the operation was cancelled while waiting for 2 resources: Deployment/db (CrashLoopBackOff), Job/migrate (BackoffLimitExceeded)",
			&DeployError{Resources: []*Resource{databaseFailure(), jobFailure()}, Cause: context.Canceled}, ""},
		{"a node that was rejected", `layer "a" of chart b could not be applied: no`,
			&DeployError{Resources: []*Resource{{Node: "b:a", Title: `layer "a" of chart b`, State: NotApplied, Message: "no", Outcome: "could not be applied"}}}, `
layer "a" of chart b:
  could not be applied: no`},
		{"many", "22 resources are not ready: Pod/p0 (Pending), Pod/p1 (Pending), Pod/p2 (Pending), Pod/p3 (Pending), Pod/p4 (Pending) and 17 more", many, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.err.Summary(); got != c.summary {
				t.Errorf("the summary is\n%s\nwant\n%s", got, c.summary)
			}
			text := c.err.Error()
			if c.text != "" && text != c.summary+c.text {
				t.Errorf("the text is\n%s\nwant\n%s", text, c.summary+c.text)
			}
			if lines := strings.Count(text, "\n"); lines > 30 {
				t.Errorf("the text has %d lines", lines)
			}
		})
	}
}

// TestDeployErrorForPrograms checks what programs can get from an error: the errors that it
// wraps, and its JSON encoding.
func TestDeployErrorForPrograms(t *testing.T) {
	cause := &TimeoutError{Limit: time.Minute}
	err := fmt.Errorf("INSTALLATION FAILED: %w", &DeployError{
		Resources: []*Resource{databaseFailure()}, Unfinished: []string{"Pod/a"}, NeverStarted: []string{"shop"}, Cause: cause,
	})
	var deploy *DeployError
	var resource *Resource
	if !errors.As(err, &deploy) || !errors.As(err, &resource) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("%v does not unwrap", err)
	}
	if resource.Resource != "Deployment/db" || resource.State != "InProgress" || resource.Node != "shop:database" ||
		resource.Waited != 10*time.Second || resource.Causes[0].Reason != "CrashLoopBackOff" || deploy.NeverStarted[0] != "shop" {
		t.Errorf("got %+v", resource)
	}
	got, jsonErr := json.Marshal(deploy)
	const want = `{"summary":"Deployment/db was not ready within 10s: Pod shop/db-1 container app: CrashLoopBackOff: exited with code 1, restarted 4 times (same on 2 more pods)",` +
		`"resources":[{"resource":"Deployment/db","namespace":"shop","file":"shop/templates/db.yaml","node":"shop:database","state":"InProgress","reason":"LessAvailable","message":"Available: 0/1",` +
		`"causes":[{"object":"Pod shop/db-1","container":"app","reason":"CrashLoopBackOff","message":"exited with code 1, restarted 4 times","log":["connecting","panic: no such host"],"count":3}],` +
		`"remedy":"to allow more time, increase --timeout","waitedSeconds":10}],"unfinished":["Pod/a"],"neverStarted":["shop"]}`
	if jsonErr != nil || string(got) != want {
		t.Errorf("got %s, %v\nwant %s", got, jsonErr, want)
	}
}

// TestFromReportForbidden checks that a failure names the missing permission.
func TestFromReportForbidden(t *testing.T) {
	report := watcher.Report{
		Target:    watcher.Target{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, Namespace: "shop", Name: "web"},
		Status:    readiness.Status{State: readiness.InProgress, Message: "phase Pending"},
		Forbidden: &watcher.ForbiddenError{Verb: "get", Resource: schema.GroupResource{Resource: "pods"}, Namespace: "shop", Name: "web", Err: errors.New("no")},
	}
	got := FromReport(report, &watcher.NotReadyError{}, time.Second).Error()
	if want := `Pod/web cannot be observed: cannot observe "web": no permission to get pods in namespace "shop"; grant the verbs get, list and watch: no`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
