// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/redact"
)

// TestNothingSecretIsTold reads every way in which a failure is told.
func TestNothingSecretIsTold(t *testing.T) {
	const secret = `hunter"22`
	answer := fmt.Errorf(`cannot patch "s" with kind Secret: Invalid value: "{\"stringData\":{\"on\":7}}": not hunter\"22: %w`, context.Canceled)
	failed := func() *ResourceFailure {
		return &ResourceFailure{Resource: "Secret/s", State: NotApplied, Message: answer.Error(), Err: answer, ending: "could not be applied"}
	}
	for name, err := range map[string]error{
		"an answer":    answer,
		"resources":    resourceFailures{failed()},
		"a deployment": &DeployError{Resources: []*ResourceFailure{failed()}, cause: context.Canceled},
		"wrapped":      fmt.Errorf("failed post-install: %w", &DeployError{Resources: []*ResourceFailure{failed()}, cause: context.Canceled}),
		"an undoing":   &UndoError{Failure: &DeployError{Resources: []*ResourceFailure{failed()}}, Undo: answer, text: "an error occurred"},
		"several":      errors.Join(answer, answer),
	} {
		t.Run(name, func(t *testing.T) {
			var got Event
			log := ""
			e := newEvents(func(event Event) { got = event })
			e.masker = redact.New([]string{secret})
			e.concealing(func(format string, v ...any) { log = fmt.Sprintf(format, v...) })("100%%: %v", err)
			e.emit(Event{Type: EventNodeFailed, Err: err, Message: err.Error()})
			result := (&operation{events: e}).result(t.Context(), err)
			said := []string{got.Message, fmt.Sprintf("%v %+v", got.Err, result), inShort(result), log}
			var deploy *DeployError
			if errors.As(result, &deploy) {
				text, failure := json.Marshal(deploy)
				if failure != nil {
					t.Fatal(failure)
				}
				said = append(said, string(text))
			}
			var resource *ResourceFailure
			if errors.As(result, &resource) {
				said = append(said, resource.Error(), resource.Err.Error())
			}
			for _, text := range said {
				if strings.Contains(text, "hunter") || strings.Contains(text, "stringData") || !strings.Contains(text, "******") {
					t.Errorf("said: %s", text)
				}
			}
			if !errors.Is(result, context.Canceled) {
				t.Error("the error is another one")
			}
		})
	}
}
