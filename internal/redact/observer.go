// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import "context"

type observerKey struct{}

// WithObserver returns a context with which an operation can be run. The operation calls
// observe with a Redactor for the Secrets of its release as soon as it knows them, and
// again when they change. The caller of the operation can use the Redactor for output that
// the operation does not write itself, such as the log of the Kubernetes client. observe
// must be safe for concurrent use.
func WithObserver(ctx context.Context, observe func(*Redactor)) context.Context {
	return context.WithValue(ctx, observerKey{}, observe)
}

// Observer returns the function that was passed to WithObserver, or one that does nothing
// if there is none.
func Observer(ctx context.Context) func(*Redactor) {
	if observe, ok := ctx.Value(observerKey{}).(func(*Redactor)); ok {
		return observe
	}
	return func(*Redactor) {}
}
