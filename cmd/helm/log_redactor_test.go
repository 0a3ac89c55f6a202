// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/redact"
)

// TestLogFilter checks what remains of formatted, unformatted and structured log messages.
func TestLogFilter(t *testing.T) {
	const secret = "kx7quuxzyzzy"
	filter := &logRedactor{}
	filter.use(redact.New([]string{secret}))
	given := []any{"body", `{"other":"text"}`, "err", errors.New("not " + secret), "url", "https://host/path", "status", 200}
	for name, tt := range map[string]struct{ got, want string }{
		"words":         {fmt.Sprint(filter.Filter([]any{"it is ", secret, 1})...), "it is ******1"},
		"format":        {formatted(filter, "%v is %s%%", 1, secret), "1 is ******%"},
		"keys":          {structured(filter, "Warning: "+secret, given...), "Warning: ****** [body " + bodyRemoved + " err not ****** url https://host/path status 200]"},
		"without value": {structured(filter, "Body", "body"), "Body [body]"},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.got != tt.want {
				t.Errorf("got %q, want %q", tt.got, tt.want)
			}
		})
	}
	if !slices.ContainsFunc(given, func(v any) bool { return strings.Contains(fmt.Sprint(v), secret) }) {
		t.Error("what was given is changed")
	}
}

func formatted(filter *logRedactor, format string, args ...any) string {
	format, args = filter.FilterF(format, args)
	return fmt.Sprintf(format, args...)
}

func structured(filter *logRedactor, message string, keysAndValues ...any) string {
	message, keysAndValues = filter.FilterS(message, keysAndValues)
	return fmt.Sprint(message, " ", keysAndValues)
}
