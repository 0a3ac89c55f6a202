// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import "context"

type observerKey struct{}

// WithObserver returns a context for an operation. The operation calls observe with its
// Redactor as soon as it knows the Secrets of its release, and again when they change. So
// the caller can redact what the operation does not write itself, such as the log of the
// Kubernetes client. observe must be safe for concurrent use.
func WithObserver(ctx context.Context, observe func(*Redactor)) context.Context {
	return context.WithValue(ctx, observerKey{}, observe)
}

// Observer returns the function that was passed to WithObserver, or one that does nothing.
func Observer(ctx context.Context) func(*Redactor) {
	if observe, ok := ctx.Value(observerKey{}).(func(*Redactor)); ok {
		return observe
	}
	return func(*Redactor) {}
}
