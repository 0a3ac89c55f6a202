// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"sync/atomic"

	"github.com/ordered-helm/helm/internal/redact"
)

// bodyRemoved replaces the body of a request or response in the log.
const bodyRemoved = "(removed: may contain secrets)"

// logRedactor implements klog.LogFilter. It removes the contents of Secrets from the log of the
// Kubernetes client library, at any verbosity.
//
// With -v=8 or higher, the library logs the bodies of requests and responses. The filter
// removes bodies completely, because they can contain Secrets, stored releases, in which
// Secrets are compressed, and values that are not yet known to be secret. From all other
// messages, it removes the known contents of Secrets, because an API server can quote any
// object in a warning.
type logRedactor struct {
	redactor atomic.Pointer[redact.Redactor]
}

// use makes the filter use r, which knows the contents of the release's Secrets, for all later
// messages.
func (f *logRedactor) use(r *redact.Redactor) { f.redactor.Store(r) }

// Filter implements klog.LogFilter.
func (f *logRedactor) Filter(args []any) []any { return f.redactAll(args) }

// FilterF implements klog.LogFilter.
func (f *logRedactor) FilterF(format string, args []any) (string, []any) {
	return "%s", []any{f.redact(fmt.Sprintf(format, args...))}
}

// FilterS implements klog.LogFilter.
func (f *logRedactor) FilterS(message string, keysAndValues []any) (string, []any) {
	redacted := f.redactAll(keysAndValues)
	for i := 0; i+1 < len(redacted); i += 2 {
		if redacted[i] == "body" {
			redacted[i+1] = bodyRemoved
		}
	}
	return f.redact(message), redacted
}

// redactAll returns a redacted copy of values. It does not change values, because they
// belong to the caller.
func (f *logRedactor) redactAll(values []any) []any {
	redacted := make([]any, len(values))
	for i, value := range values {
		switch v := value.(type) {
		case string:
			value = f.redact(v)
		case error:
			value = f.redact(v.Error())
		}
		redacted[i] = value
	}
	return redacted
}

func (f *logRedactor) redact(text string) string { return f.redactor.Load().ServerMessage(text) }
