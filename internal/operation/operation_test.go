// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	helmaction "helm.sh/helm/v3/pkg/action"
	kubefake "helm.sh/helm/v3/pkg/kube/fake"

	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/redact"
	"github.com/ordered-helm/helm/internal/wait"
)

// TestFailuresAreRedacted checks that a secret in an error is redacted wherever the error is
// reported: in events, in the log, in the error of the operation, and in the description and
// the JSON of the stored release.
func TestFailuresAreRedacted(t *testing.T) {
	const secret = `hunter"22`
	answer := fmt.Errorf(`cannot patch "s" with kind Secret: Invalid value: "{\"stringData\":{\"on\":7}}": not hunter\"22: %w`, context.Canceled)
	failed := func() *failure.Resource {
		return &failure.Resource{Resource: "Secret/s", State: failure.NotApplied, Message: answer.Error(), Err: answer, Outcome: "could not be applied"}
	}
	for name, err := range map[string]error{
		"an answer":     answer,
		"resources":     failure.Resources{failed()},
		"a deployment":  &failure.DeployError{Resources: []*failure.Resource{failed()}, Cause: context.Canceled},
		"wrapped":       fmt.Errorf("failed post-install: %w", &failure.DeployError{Resources: []*failure.Resource{failed()}, Cause: context.Canceled}),
		"a failed undo": &failure.UndoError{Failure: &failure.DeployError{Resources: []*failure.Resource{failed()}}, Undo: answer, Prefix: "an error occurred"},
		"several":       errors.Join(answer, answer),
	} {
		t.Run(name, func(t *testing.T) {
			var got event.Event
			log := ""
			events := event.NewSink(func(e event.Event) { got = e }, nil)
			events.RedactWith(redact.New([]string{secret}))
			events.RedactLog(func(format string, v ...any) { log = fmt.Sprintf(format, v...) })("100%%: %v", err)
			events.Emit(event.Event{Type: event.NodeFailed, Err: err, Message: err.Error()})
			result := (&Operation{Events: events}).Finish(t.Context(), err)
			texts := []string{got.Message, fmt.Sprintf("%v %+v", got.Err, result), failure.Description(result), log}
			var deploy *failure.DeployError
			if errors.As(result, &deploy) {
				text, err := json.Marshal(deploy)
				if err != nil {
					t.Fatal(err)
				}
				texts = append(texts, string(text))
			}
			var resource *failure.Resource
			if errors.As(result, &resource) {
				texts = append(texts, resource.Error(), resource.Err.Error())
			}
			for _, text := range texts {
				if strings.Contains(text, "hunter") || strings.Contains(text, "stringData") || !strings.Contains(text, "******") {
					t.Errorf("got: %s", text)
				}
			}
			if !errors.Is(result, context.Canceled) {
				t.Error("the cause is not wrapped")
			}
		})
	}
}

// TestDeadline checks that the deadline of an operation is known before Announce, and is
// part of the event Started.
func TestDeadline(t *testing.T) {
	check := func(bounded bool) {
		var began event.Event
		config := &helmaction.Configuration{KubeClient: &kubefake.PrintingKubeClient{Out: io.Discard}, Log: t.Logf}
		op, ctx, end := Start(t.Context(), config, StartOptions{
			Notify: func(e event.Event) { began = e }, Timeouts: wait.Timeouts{Operation: time.Hour}, Bounded: bounded, NoCluster: true,
		})
		defer end()
		want, _ := ctx.Deadline()
		if got := op.Deadline(); !got.Equal(want) || got.IsZero() == bounded {
			t.Errorf("bounded: %v: the deadline is %s, want %s", bounded, got, want)
		}
		op.Announce(event.Operation{Name: "upgrade"})
		if began.Type != event.Started || !began.Operation.Deadline.Equal(want) {
			t.Errorf("bounded: %v: got %+v", bounded, began.Operation)
		}
	}
	check(true)
	check(false)
}

// TestGuard checks that an operation ends when its Guard returns an error, and that the Guard does
// not apply to its cleanup.
func TestGuard(t *testing.T) {
	config := &helmaction.Configuration{KubeClient: &kubefake.PrintingKubeClient{Out: io.Discard}, Log: t.Logf}
	var problem error
	op, ctx, end := Start(t.Context(), config, StartOptions{NoCluster: true, Guard: func() error { return problem }})
	defer end()
	if err := op.MayChange(); err != nil || ctx.Err() != nil {
		t.Errorf("got %v, %v", err, ctx.Err())
	}
	problem = errors.New("another operation has begun")
	if err := op.MayChange(); !errors.Is(err, problem) || !errors.Is(context.Cause(ctx), problem) {
		t.Errorf("got %v, and the cause %v", err, context.Cause(ctx))
	}
	cleanup, ctx, endCleanup := op.StartCleanup(context.WithoutCancel(ctx))
	defer endCleanup()
	if err := cleanup.MayChange(); err != nil || ctx.Err() != nil {
		t.Errorf("cleanup: got %v, %v", err, ctx.Err())
	}
}
