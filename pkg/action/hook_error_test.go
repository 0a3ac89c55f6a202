// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/go-multierror"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/hookrunner"
	"github.com/ordered-helm/helm/internal/redact"
)

func jobHook(name string) *release.Hook {
	return &release.Hook{Name: name, Kind: "Job", Path: "shop/templates/" + name + ".yaml"}
}

func ranInVain(name string, causes ...Cause) hookrunner.Failure {
	f := &ResourceFailure{
		Resource: "Job/" + name, Namespace: "default", File: "shop/templates/" + name + ".yaml", State: "Failed",
		Reason: "BackoffLimitExceeded", Message: "Job has reached the specified backoff limit", ending: "failed", Causes: causes,
	}
	return hookrunner.Failure{Hook: jobHook(name), Created: true, Err: &hookFailure{
		helm: multierror.Append(nil, fmt.Errorf("job %s failed: BackoffLimitExceeded", name)), resources: resourceFailures{f},
	}}
}

func tooSlow(name string) hookrunner.Failure {
	failure := ranInVain(name)
	f := failure.Err.(*hookFailure).resources[0] //nolint:errorlint // it was made so
	f.State, f.Reason, f.Message, f.ending, f.Remedy = "InProgress", "JobRunning", "", "had not completed within 5s", "if it only needs more time, raise --timeout"
	return failure
}

func refused(name string) hookrunner.Failure {
	return hookrunner.Failure{Hook: jobHook(name), Err: fmt.Errorf("warning: Hook pre-install shop/templates/%s.yaml failed: %w", name, multierror.Append(nil, errors.New(`jobs.batch "x" already exists`)))}
}

func crash() Cause {
	return Cause{Object: "Pod default/a-1", Container: "app", Reason: "Error", Message: "exited with code 1", Log: []string{"migrating", "no such table"}, Count: 1}
}

// TestHookErrorText has the errors of all kinds of runs as everybody reads them.
func TestHookErrorText(t *testing.T) {
	many := &hookrunner.RunError{}
	for i := range 25 {
		many.Failed = append(many.Failed, ranInVain(fmt.Sprintf("j%d", i)))
	}
	for i := range 205 {
		many.NotStarted = append(many.NotStarted, jobHook(fmt.Sprintf("n%d", i)))
	}
	manyText := "25 hooks failed: Job/j0 (BackoffLimitExceeded), Job/j1 (BackoffLimitExceeded), Job/j2 (BackoffLimitExceeded), Job/j3 (BackoffLimitExceeded), Job/j4 (BackoffLimitExceeded) and 20 more\n"
	for i := range 20 {
		manyText += fmt.Sprintf("  Job/j%d (shop/templates/j%d.yaml) failed: Job has reached the specified backoff limit\n", i, i)
	}
	manyText += "and 5 more: Job/j20, Job/j21, Job/j22, Job/j23, Job/j24\nhooks never started because of that: Job/n0"
	for i := 1; i < 200; i++ {
		manyText += fmt.Sprintf(", Job/n%d", i)
	}
	manyText += " and 5 more"

	for _, c := range []struct {
		name         string
		run          *hookrunner.RunError
		inHelmsOrder bool
		summary      string
		text         string
	}{
		{
			name: "one, in Helm's order", inHelmsOrder: true,
			run:     &hookrunner.RunError{Failed: []hookrunner.Failure{ranInVain("a", crash())}, NotStarted: []*release.Hook{jobHook("b"), jobHook("c")}},
			summary: "1 error occurred:\n\t* job a failed: BackoffLimitExceeded\n\n",
			text: `1 error occurred:
	* job a failed: BackoffLimitExceeded

  Job/a (shop/templates/a.yaml) failed: Job has reached the specified backoff limit
    Pod default/a-1 container app: Error: exited with code 1
      | migrating
      | no such table
hooks never started because of that: Job/b, Job/c
`,
		},
		{
			name: "one that was not created, in Helm's order: Helm's words say all there is", inHelmsOrder: true,
			run:     &hookrunner.RunError{Failed: []hookrunner.Failure{refused("a")}, NotStarted: []*release.Hook{jobHook("b")}},
			summary: "warning: Hook pre-install shop/templates/a.yaml failed: 1 error occurred:\n\t* jobs.batch \"x\" already exists\n\n",
			text:    "warning: Hook pre-install shop/templates/a.yaml failed: 1 error occurred:\n\t* jobs.batch \"x\" already exists\n\n",
		},
		{
			name: "one out of time, in Helm's order", inHelmsOrder: true,
			run:     &hookrunner.RunError{Failed: []hookrunner.Failure{tooSlow("a")}},
			summary: "1 error occurred:\n\t* job a failed: BackoffLimitExceeded\n\n",
			text: `1 error occurred:
	* job a failed: BackoffLimitExceeded

  Job/a (shop/templates/a.yaml) had not completed within 5s
    if it only needs more time, raise --timeout
`,
		},
		{
			name:    "one of which nothing is known but that it failed",
			run:     &hookrunner.RunError{Failed: []hookrunner.Failure{{Hook: jobHook("a"), Err: errors.New("so it is"), Created: true}}},
			summary: "hook Job/a failed: so it is",
			text:    "hook Job/a failed: so it is\n  Job/a (shop/templates/a.yaml) failed: so it is",
		},
		{
			name:    "one for which there is no way",
			run:     &hookrunner.RunError{Failed: []hookrunner.Failure{{Hook: jobHook("a"), Err: fmt.Errorf("the hook Job/a was deleted and is not gone after 5s: %w", errors.New("time is up"))}}},
			summary: "hook Job/a could not be created: the hook Job/a was deleted and is not gone after 5s: time is up",
			text:    "hook Job/a could not be created: the hook Job/a was deleted and is not gone after 5s: time is up\n  Job/a (shop/templates/a.yaml) could not be created: the hook Job/a was deleted and is not gone after 5s: time is up",
		},
		{
			name:    "one, in parallel",
			run:     &hookrunner.RunError{Failed: []hookrunner.Failure{ranInVain("a", crash())}},
			summary: "hook Job/a failed: Pod default/a-1 container app: Error: exited with code 1",
			text: `hook Job/a failed: Pod default/a-1 container app: Error: exited with code 1
  Job/a (shop/templates/a.yaml) failed: Job has reached the specified backoff limit
    Pod default/a-1 container app: Error: exited with code 1
      | migrating
      | no such table`,
		},
		{
			name:    "one that was not created, in parallel",
			run:     &hookrunner.RunError{Failed: []hookrunner.Failure{refused("a")}, NotStarted: []*release.Hook{jobHook("b")}},
			summary: `hook Job/a could not be created: jobs.batch "x" already exists`,
			text: `hook Job/a could not be created: jobs.batch "x" already exists
  Job/a (shop/templates/a.yaml) could not be created: jobs.batch "x" already exists
hooks never started because of that: Job/b`,
		},
		{
			name:    "several, in parallel",
			run:     &hookrunner.RunError{Failed: []hookrunner.Failure{ranInVain("a", crash()), refused("b"), tooSlow("c")}, NotStarted: []*release.Hook{jobHook("d")}},
			summary: "3 hooks failed: Job/a (Error), Job/b, Job/c (JobRunning)",
			text: `3 hooks failed: Job/a (Error), Job/b, Job/c (JobRunning)
  Job/a (shop/templates/a.yaml) failed: Job has reached the specified backoff limit
    Pod default/a-1 container app: Error: exited with code 1
      | migrating
      | no such table
  Job/b (shop/templates/b.yaml) could not be created: jobs.batch "x" already exists
  Job/c (shop/templates/c.yaml) had not completed within 5s
    if it only needs more time, raise --timeout
hooks never started because of that: Job/d`,
		},
		{name: "many", run: many, summary: manyText[:len("25 hooks failed: ")+5*len("Job/j0 (BackoffLimitExceeded), ")-2+len(" and 20 more")], text: manyText},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &hookRun{operation: &operation{events: newEvents(nil)}, event: release.HookPreInstall}
			var failed *HookError
			err := r.failure(fmt.Errorf("as it is: %w", c.run), c.inHelmsOrder)
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
				var ran *hookFailure
				if !errors.As(f.Err, &ran) && !errors.Is(err, f.Err) {
					t.Errorf("%v is not in it", f.Err)
				}
			}
		})
	}
}

func TestHookErrorAsJSON(t *testing.T) {
	r := &hookRun{operation: &operation{events: newEvents(nil)}, event: release.HookPostUpgrade}
	run := &hookrunner.RunError{Failed: []hookrunner.Failure{ranInVain("a", crash()), refused("b")}, NotStarted: []*release.Hook{jobHook("c")}}
	for _, c := range []struct {
		name         string
		inHelmsOrder bool
		summary      string
	}{
		{"in parallel", false, "2 hooks failed: Job/a (Error), Job/b"},
		{"in Helm's order", true, "1 error occurred: * job a failed: BackoffLimitExceeded"},
	} {
		want := `{"summary":"` + c.summary + `","event":"post-upgrade","hooks":[` +
			`{"resource":"Job/a","namespace":"default","file":"shop/templates/a.yaml","state":"Failed","reason":"BackoffLimitExceeded","message":"Job has reached the specified backoff limit",` +
			`"causes":[{"object":"Pod default/a-1","container":"app","reason":"Error","message":"exited with code 1","log":["migrating","no such table"],"count":1}],"waitedSeconds":0},` +
			`{"resource":"Job/b","file":"shop/templates/b.yaml","state":"NotApplied","reason":"NotApplied","message":"jobs.batch \"x\" already exists","waitedSeconds":0}],"neverStarted":["Job/c"]}`
		got, err := json.Marshal(r.failure(run, c.inHelmsOrder))
		if err != nil || string(got) != want {
			t.Errorf("%s: got\n%s, %v\nwant\n%s", c.name, got, err, want)
		}
	}
}

// TestHookErrorConceals has a hook whose refusal quotes a secret.
func TestHookErrorConceals(t *testing.T) {
	for _, inHelmsOrder := range []bool{false, true} {
		e := newEvents(nil)
		e.masker = redact.New([]string{"hunter2hunter2"})
		r := &hookRun{operation: &operation{events: e}, event: release.HookPreInstall}
		refusal := fmt.Errorf("warning: Hook failed: %w", multierror.Append(nil, errors.New(`invalid value "hunter2hunter2"`)))
		err := r.failure(&hookrunner.RunError{Failed: []hookrunner.Failure{{Hook: jobHook("a"), Err: refusal}}}, inHelmsOrder)
		var hook *HookError
		if !errors.As(err, &hook) {
			t.Fatal(err)
		}
		data, err := json.Marshal(hook)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{hook.Summary(), hook.Error(), string(data), inShort(fmt.Errorf("failed: %w", hook))} {
			if strings.Contains(text, "hunter2") || !strings.Contains(text, "******") {
				t.Errorf("in Helm's order %v: %s", inHelmsOrder, text)
			}
		}
	}
}
