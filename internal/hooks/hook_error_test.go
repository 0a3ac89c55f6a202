// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/go-multierror"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/hookorder"
	"github.com/ordered-helm/helm/internal/redact"
)

// newRunWithoutCluster returns an eventRun without a cluster.
func newRunWithoutCluster(events *event.Sink, hookEvent release.HookEvent) *eventRun {
	return &eventRun{Runner: &Runner{Events: events}, event: hookEvent}
}

// jobHook returns a hook that is a Job.
func jobHook(name string) *release.Hook {
	return &release.Hook{Name: name, Kind: "Job", Path: "shop/templates/" + name + ".yaml"}
}

// failedJob returns the failure of a hook whose Job failed.
func failedJob(name string, causes ...failure.Cause) hookorder.HookFailure {
	f := &failure.Resource{
		Resource: "Job/" + name, Namespace: "default", File: "shop/templates/" + name + ".yaml", State: "Failed",
		Reason: "BackoffLimitExceeded", Message: "Job has reached the specified backoff limit", Outcome: "failed", Causes: causes,
	}
	return hookorder.HookFailure{Hook: jobHook(name), Created: true, Err: &failure.IncompleteHookError{
		Helm: multierror.Append(nil, fmt.Errorf("job %s failed: BackoffLimitExceeded", name)), Resources: failure.Resources{f},
	}}
}

// timedOutJob returns the failure of a hook whose Job timed out.
func timedOutJob(name string) hookorder.HookFailure {
	failed := failedJob(name)
	f := failed.Err.(*failure.IncompleteHookError).Resources[0] //nolint:errorlint // it is not wrapped
	f.State, f.Reason, f.Message, f.Outcome, f.Remedy = "InProgress", "JobRunning", "", "did not complete within 5s", "to allow more time, increase --timeout"
	return failed
}

// rejectedJob returns the failure of a hook that the server rejected.
func rejectedJob(name string) hookorder.HookFailure {
	return hookorder.HookFailure{Hook: jobHook(name), Err: fmt.Errorf("warning: Hook pre-install shop/templates/%s.yaml failed: %w", name, multierror.Append(nil, errors.New(`jobs.batch "x" already exists`)))}
}

// crashCause returns the cause of the failure of a pod of a hook.
func crashCause() failure.Cause {
	return failure.Cause{Object: "Pod default/a-1", Container: "app", Reason: "Error", Message: "exited with code 1", Log: []string{"migrating", "no such table"}, Count: 1}
}

// TestHookErrorText checks the messages of failed hooks, for hooks that run sequentially and
// in parallel.
func TestHookErrorText(t *testing.T) {
	many := &hookorder.RunError{}
	for i := range 25 {
		many.Failed = append(many.Failed, failedJob(fmt.Sprintf("j%d", i)))
	}
	for i := range 205 {
		many.NotStarted = append(many.NotStarted, jobHook(fmt.Sprintf("n%d", i)))
	}
	manyText := "25 hooks failed: Job/j0 (BackoffLimitExceeded), Job/j1 (BackoffLimitExceeded), Job/j2 (BackoffLimitExceeded), Job/j3 (BackoffLimitExceeded), Job/j4 (BackoffLimitExceeded) and 20 more\n"
	for i := range 20 {
		manyText += fmt.Sprintf("  Job/j%d (shop/templates/j%d.yaml) failed: Job has reached the specified backoff limit\n", i, i)
	}
	manyText += "and 5 more: Job/j20, Job/j21, Job/j22, Job/j23, Job/j24\nhooks skipped (blocked by this failure): Job/n0"
	for i := 1; i < 200; i++ {
		manyText += fmt.Sprintf(", Job/n%d", i)
	}
	manyText += " and 5 more"

	for _, c := range []struct {
		name        string
		run         *hookorder.RunError
		isHelmOrder bool
		summary     string
		text        string
	}{
		{
			name: "one, in Helm's order", isHelmOrder: true,
			run:     &hookorder.RunError{Failed: []hookorder.HookFailure{failedJob("a", crashCause())}, NotStarted: []*release.Hook{jobHook("b"), jobHook("c")}},
			summary: "1 error occurred:\n\t* job a failed: BackoffLimitExceeded\n\n",
			text: `1 error occurred:
	* job a failed: BackoffLimitExceeded

  Job/a (shop/templates/a.yaml) failed: Job has reached the specified backoff limit
    Pod default/a-1 container app: Error: exited with code 1
      | migrating
      | no such table
hooks skipped (blocked by this failure): Job/b, Job/c
`,
		},
		{
			name: "one that was not created, in Helm's order: Helm's text alone", isHelmOrder: true,
			run:     &hookorder.RunError{Failed: []hookorder.HookFailure{rejectedJob("a")}, NotStarted: []*release.Hook{jobHook("b")}},
			summary: "warning: Hook pre-install shop/templates/a.yaml failed: 1 error occurred:\n\t* jobs.batch \"x\" already exists\n\n",
			text:    "warning: Hook pre-install shop/templates/a.yaml failed: 1 error occurred:\n\t* jobs.batch \"x\" already exists\n\n",
		},
		{
			name: "one that timed out, in Helm's order", isHelmOrder: true,
			run:     &hookorder.RunError{Failed: []hookorder.HookFailure{timedOutJob("a")}},
			summary: "1 error occurred:\n\t* job a failed: BackoffLimitExceeded\n\n",
			text: `1 error occurred:
	* job a failed: BackoffLimitExceeded

  Job/a (shop/templates/a.yaml) did not complete within 5s
    to allow more time, increase --timeout
`,
		},
		{
			name:    "one without details",
			run:     &hookorder.RunError{Failed: []hookorder.HookFailure{{Hook: jobHook("a"), Err: errors.New("so it is"), Created: true}}},
			summary: "hook Job/a failed: so it is",
			text:    "hook Job/a failed: so it is\n  Job/a (shop/templates/a.yaml)",
		},
		{
			name:    "one whose predecessor is not gone",
			run:     &hookorder.RunError{Failed: []hookorder.HookFailure{{Hook: jobHook("a"), Err: fmt.Errorf("the hook Job/a still exists 5s after it was deleted: %w", errors.New("time is up"))}}},
			summary: "hook Job/a could not be created: the hook Job/a still exists 5s after it was deleted: time is up",
			text:    "hook Job/a could not be created: the hook Job/a still exists 5s after it was deleted: time is up\n  Job/a (shop/templates/a.yaml)",
		},
		{
			name:    "one, in parallel",
			run:     &hookorder.RunError{Failed: []hookorder.HookFailure{failedJob("a", crashCause())}},
			summary: "hook Job/a failed: Pod default/a-1 container app: Error: exited with code 1",
			text: `hook Job/a failed: Pod default/a-1 container app: Error: exited with code 1
  Job/a (shop/templates/a.yaml): Job has reached the specified backoff limit
    Pod default/a-1 container app:
      | migrating
      | no such table`,
		},
		{
			name:    "one that was not created, in parallel",
			run:     &hookorder.RunError{Failed: []hookorder.HookFailure{rejectedJob("a")}, NotStarted: []*release.Hook{jobHook("b")}},
			summary: `hook Job/a could not be created: jobs.batch "x" already exists`,
			text: `hook Job/a could not be created: jobs.batch "x" already exists
  Job/a (shop/templates/a.yaml)
hooks skipped (blocked by this failure): Job/b`,
		},
		{
			name:    "several, in parallel",
			run:     &hookorder.RunError{Failed: []hookorder.HookFailure{failedJob("a", crashCause()), rejectedJob("b"), timedOutJob("c")}, NotStarted: []*release.Hook{jobHook("d")}},
			summary: "3 hooks failed: Job/a (Error), Job/b, Job/c (JobRunning)",
			text: `3 hooks failed: Job/a (Error), Job/b, Job/c (JobRunning)
  Job/a (shop/templates/a.yaml) failed: Job has reached the specified backoff limit
    Pod default/a-1 container app: Error: exited with code 1
      | migrating
      | no such table
  Job/b (shop/templates/b.yaml) could not be created: jobs.batch "x" already exists
  Job/c (shop/templates/c.yaml) did not complete within 5s
    to allow more time, increase --timeout
hooks skipped (blocked by this failure): Job/d`,
		},
		{name: "many", run: many, summary: manyText[:len("25 hooks failed: ")+5*len("Job/j0 (BackoffLimitExceeded), ")-2+len(" and 20 more")], text: manyText},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRunWithoutCluster(event.NewSink(nil, nil), release.HookPreInstall)
			var failed *failure.HookError
			err := r.hookError(fmt.Errorf("wrapped: %w", c.run), c.isHelmOrder)
			if !errors.As(err, &failed) {
				t.Fatalf("got %v", err)
			}
			if got := failed.Summary(); got != c.summary {
				t.Errorf("the summary is\n%q\nwant\n%q", got, c.summary)
			}
			if got := failed.Error(); got != c.text {
				t.Errorf("the text is\n%s\nwant\n%s", got, c.text)
			}
			for _, f := range c.run.Failed {
				var incomplete *failure.IncompleteHookError
				if !errors.As(f.Err, &incomplete) && !errors.Is(err, f.Err) {
					t.Errorf("%v is not in it", f.Err)
				}
			}
		})
	}
}

func TestHookErrorAsJSON(t *testing.T) {
	r := newRunWithoutCluster(event.NewSink(nil, nil), release.HookPostUpgrade)
	runError := &hookorder.RunError{Failed: []hookorder.HookFailure{failedJob("a", crashCause()), rejectedJob("b")}, NotStarted: []*release.Hook{jobHook("c")}}
	for _, c := range []struct {
		name        string
		isHelmOrder bool
		summary     string
	}{
		{"in parallel", false, "2 hooks failed: Job/a (Error), Job/b"},
		{"in Helm's order", true, "1 error occurred: * job a failed: BackoffLimitExceeded"},
	} {
		want := `{"summary":"` + c.summary + `","event":"post-upgrade","hooks":[` +
			`{"resource":"Job/a","namespace":"default","file":"shop/templates/a.yaml","state":"Failed","reason":"BackoffLimitExceeded","message":"Job has reached the specified backoff limit",` +
			`"causes":[{"object":"Pod default/a-1","container":"app","reason":"Error","message":"exited with code 1","log":["migrating","no such table"],"count":1}],"waitedSeconds":0},` +
			`{"resource":"Job/b","file":"shop/templates/b.yaml","state":"NotApplied","reason":"NotApplied","message":"jobs.batch \"x\" already exists","waitedSeconds":0}],"neverStarted":["Job/c"]}`
		got, err := json.Marshal(r.hookError(runError, c.isHelmOrder))
		if err != nil || string(got) != want {
			t.Errorf("%s: got\n%s, %v\nwant\n%s", c.name, got, err, want)
		}
	}
}

// TestHookErrorIsRedacted checks the error of a hook that the server rejects with a message
// that contains a secret.
func TestHookErrorIsRedacted(t *testing.T) {
	for _, isHelmOrder := range []bool{false, true} {
		events := event.NewSink(nil, nil)
		events.RedactWith(redact.New([]string{"hunter2hunter2"}))
		r := newRunWithoutCluster(events, release.HookPreInstall)
		rejection := fmt.Errorf("warning: Hook failed: %w", multierror.Append(nil, errors.New(`invalid value "hunter2hunter2"`)))
		err := r.hookError(&hookorder.RunError{Failed: []hookorder.HookFailure{{Hook: jobHook("a"), Err: rejection}}}, isHelmOrder)
		var hook *failure.HookError
		if !errors.As(err, &hook) {
			t.Fatal(err)
		}
		data, err := json.Marshal(hook)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{hook.Summary(), hook.Error(), string(data), failure.Description(fmt.Errorf("failed: %w", hook))} {
			if strings.Contains(text, "hunter2") || !strings.Contains(text, "******") {
				t.Errorf("in Helm's order %v: %s", isHelmOrder, text)
			}
		}
	}
}
