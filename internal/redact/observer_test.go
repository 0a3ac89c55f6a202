// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"context"
	"testing"
)

func TestObserver(t *testing.T) {
	var got *Redactor
	ctx, cancel := context.WithCancel(WithObserver(t.Context(), func(r *Redactor) { got = r }))
	defer cancel()
	want := New(nil)
	Observer(t.Context())(want)
	if got != nil {
		t.Error("a context without an observer has one")
	}
	Observer(ctx)(want)
	if got != want {
		t.Error("the observer of the parent context is not called")
	}
}
