// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import "context"

type observerKey struct{}

// WithObserver returns a context that passes the Redactor of an operation to observe, as
// soon as the operation knows the Secrets of its release. An observer can redact what
// the operation does not write itself, such as the log of the Kubernetes client. It is
// called again when the Secrets change, and must be safe for concurrent use.
func WithObserver(ctx context.Context, observe func(*Redactor)) context.Context {
	return context.WithValue(ctx, observerKey{}, observe)
}

// Observer returns the observer of a context. Without one it returns a function that
// does nothing.
func Observer(ctx context.Context) func(*Redactor) {
	if observe, ok := ctx.Value(observerKey{}).(func(*Redactor)); ok {
		return observe
	}
	return func(*Redactor) {}
}
