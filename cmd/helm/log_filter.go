// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/ordered-helm/helm/internal/diagnosis"
)

// bodyLeftOut stands in the place of what was sent or received.
const bodyLeftOut = "(left out: it may hold what is secret)"

// logFilter keeps what is secret out of the log of the Kubernetes client, at any
// verbosity. From -v=8 on that has what is sent and received: Secrets, releases, which
// hold all Secrets of theirs in a form in which no text can be found, and objects into
// which a chart has put the same values before anybody knows that they are secret. So
// bodies are left out whole. All else is masked as in failures: warnings of servers
// quote what they like.
type logFilter struct{}

func (logFilter) Filter(args []any) []any { return maskAll(args) }

func (logFilter) FilterF(format string, args []any) (string, []any) {
	return "%s", []any{mask(fmt.Sprintf(format, args...))}
}

func (logFilter) FilterS(message string, keysAndValues []any) (string, []any) {
	masked := maskAll(keysAndValues)
	for i := 0; i+1 < len(masked); i += 2 {
		if masked[i] == "body" {
			masked[i+1] = bodyLeftOut
		}
	}
	return mask(message), masked
}

// maskAll is a copy: the caller may use what it gave again.
func maskAll(values []any) []any {
	masked := make([]any, len(values))
	for i, value := range values {
		switch v := value.(type) {
		case string:
			value = mask(v)
		case error:
			value = mask(v.Error())
		}
		masked[i] = value
	}
	return masked
}

func mask(text string) string { return diagnosis.Current().Refusal(text) }
