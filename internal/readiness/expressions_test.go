// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/fakeapi"
)

func rules(tb testing.TB, success, failure []string) Expressions {
	tb.Helper()
	parse := func(texts []string) []annotation.ReadinessExpression {
		var list []annotation.ReadinessExpression
		for _, text := range texts {
			e, err := annotation.ParseExpression(text)
			if err != nil {
				tb.Fatal(err)
			}
			list = append(list, e)
		}
		return list
	}
	return Expressions{Success: parse(success), Failure: parse(failure)}
}

func computed(_ context.Context, obj *unstructured.Unstructured) Status { return Compute(obj) }

func TestRules(t *testing.T) {
	const (
		running  = `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, status: {startTime: "2024-01-01T00:00:00Z", active: 1, succeeded: 1, failed: 1}}`
		complete = `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, status: {succeeded: 3, failed: 1, conditions: [{type: Complete, status: "True"}]}}`
		failed   = `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, status: {succeeded: 1, failed: 7, conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded}]}}`
		lagging  = `{apiVersion: x.example/v1, kind: Thing, metadata: {name: a, generation: 2}, status: {observedGeneration: 1, phase: Done, broken: true}}`
		leaving  = `{apiVersion: x.example/v1, kind: Thing, metadata: {name: a, deletionTimestamp: "2024-01-01T00:00:00Z"}, status: {phase: Done, broken: true}}`
		bare     = `{apiVersion: x.example/v1, kind: Thing, metadata: {name: a}}`
		oneWord  = `{apiVersion: x.example/v1, kind: Thing, metadata: {name: a}, status: fine}`
	)
	for _, c := range []struct {
		name             string
		success, failure []string
		object           string
		state            State
		reason           string
	}{
		{"none: kstatus alone", nil, nil, complete, Ready, "Complete"},
		{"success alone holds", []string{"succeeded >= 1"}, nil, running, Ready, "ReadinessSuccess"},
		{"success alone does not hold, whatever kstatus says", []string{"succeeded >= 9"}, nil, complete, InProgress, "ReadinessSuccessFalse"},
		{"success alone: failure stays with kstatus, and is asked first", []string{"succeeded >= 1"}, nil, failed, Failed, "BackoffLimitExceeded"},
		{"failure alone holds", nil, []string{"failed >= 1"}, running, Failed, "ReadinessFailure"},
		{"failure alone is asked before kstatus' success", nil, []string{"failed >= 1"}, complete, Failed, "ReadinessFailure"},
		{"failure alone: success stays with kstatus", nil, []string{"failed >= 9"}, complete, Ready, "Complete"},
		{"failure alone: what can never complete has failed", nil, []string{"failed >= 9"}, failed, Failed, "BackoffLimitExceeded"},
		{"both: failure is asked first", []string{"succeeded >= 1"}, []string{"failed >= 1"}, running, Failed, "ReadinessFailure"},
		{"both: they alone decide", []string{"failed >= 7"}, []string{"failed >= 9"}, failed, Ready, "ReadinessSuccess"},
		{"any of several", []string{"succeeded >= 9", "active == 1"}, nil, running, Ready, "ReadinessSuccess"},
		{"a generation that was not observed is never ready", []string{"phase == Done"}, nil, lagging, InProgress, "LatestGenerationNotObserved"},
		{"nor has it failed", nil, []string{"broken == true"}, lagging, InProgress, "LatestGenerationNotObserved"},
		{"what is being deleted", []string{"phase == Done"}, []string{"broken == true"}, leaving, Terminating, "Terminating"},
		{"no status so far", []string{"phase != Broken"}, []string{"phase != Done"}, bare, InProgress, "ReadinessSuccessFalse"},
		{"a status of one word", []string{"phase != Broken"}, nil, oneWord, InProgress, "ReadinessSuccessFalse"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := rules(t, c.success, c.failure).Evaluator(computed)(t.Context(), fakeapi.Object(t, c.object))
			if got.State != c.state || got.Reason != c.reason {
				t.Errorf("got %+v, want %s %s", got, c.state, c.reason)
			}
		})
	}
}

func TestRulesSayWhatTheyFound(t *testing.T) {
	thing := fakeapi.Object(t, `{apiVersion: x.example/v1, kind: Thing, metadata: {name: a}, status: {phase: New, failed: 2}}`)
	for _, c := range []struct {
		name             string
		success, failure []string
		want             string
	}{
		{"one", []string{"phase == Done"}, nil, `waiting for the readiness-success expression phase == Done (is "New")`},
		{"nothing there", []string{"{.state} == Done"}, nil, `waiting for the readiness-success expression {.state} == Done (not set)`},
		{"several", []string{"phase == Done", "x == 1"}, nil, `waiting for one of the readiness-success expressions: phase == Done (is "New"); x == 1 (not set)`},
		{"failure", nil, []string{"failed > 1"}, `readiness-failure expression failed > 1 is true`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := rules(t, c.success, c.failure).Evaluator(computed)(t.Context(), thing); got.Message != c.want {
				t.Errorf("got %q, want %q", got.Message, c.want)
			}
		})
	}
}
