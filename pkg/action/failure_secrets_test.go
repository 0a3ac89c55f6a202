// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/diagnosis"
)

// TestSecretTextsOfManifests reads values that should be texts and are not, of
// objects in lists and of hooks too.
func TestSecretTextsOfManifests(t *testing.T) {
	const manifest = `
apiVersion: v1
kind: Secret
metadata: {name: a, namespace: production}
stringData: {int: 12345678, long: 9876543210987654321, float: 1234.5678, on: true, deep: {list: [87654321]}, where: production}
data: {port: 5432123, pass: "PDw/Pz8+Pj4=", nothing: }
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Secret, metadata: {name: b}, stringData: {x: in-a-list}}
---
no object
`
	hook := &release.Hook{Manifest: "apiVersion: v1\nkind: Secret\nmetadata: {name: h}\nstringData: {x: 11223344}\n"}
	texts := secretTexts(append(contentsOfManifest(manifest), contentsOfHooks(&release.Release{Hooks: []*release.Hook{hook}})...))
	for _, want := range []string{
		"12345678", "MTIzNDU2Nzg=", "9876543210987654321", "1234.5678", "true", "87654321", "5432123", "in-a-list", "11223344",
		"<<???>>>", "PDw/Pz8+Pj4=", "PDw/Pz8+Pj4", "PDw_Pz8-Pj4=", "PDw_Pz8-Pj4",
	} {
		if !slices.Contains(texts, want) {
			t.Errorf("%q is no secret", want)
		}
	}
	if slices.Contains(texts, "production") {
		t.Error("the name of a namespace is a secret")
	}
	texts = leaves(map[string]any{"a": int64(12345678), "b": 12345678.0})
	if want := []string{"12345678", "12345678", "12345678", "1.2345678e+07"}; !slices.Equal(texts, want) {
		t.Errorf("numbers are spelled %q, want %q", texts, want)
	}
}

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
			e.masker = diagnosis.NewMasker([]string{secret})
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
