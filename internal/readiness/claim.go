// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// claimRecheck is how long an unbound claim rests before its class, or its
// events, are asked again: neither changes the claim, so no watch tells of it.
const claimRecheck = time.Second

// Binding is when a volume claim is bound.
type Binding int

const (
	// BindingUnknown means that it cannot be told, or not yet.
	BindingUnknown Binding = iota
	// BindsAtOnce claims are bound without anybody using them.
	BindsAtOnce
	// BindsOnUse claims are bound only when a pod that uses them is scheduled.
	BindsOnUse
)

// ClaimBinding tells when a PersistentVolumeClaim is bound. An error is shown
// in the claim's message; the claim is asked about again later.
type ClaimBinding func(ctx context.Context, claim *unstructured.Unstructured) (Binding, error)

// Default returns the Evaluator for objects without rules of their own: Compute,
// with the exception that a claim which is bound on use does not block. Its pod
// may come later than the claim, even in a later part of the same release.
func Default(binding ClaimBinding) Evaluator {
	return func(ctx context.Context, obj *unstructured.Unstructured) Status {
		verdict := Compute(obj)
		if verdict.State != InProgress || !mayBindOnUse(obj) {
			return verdict
		}
		switch mode, err := binding(ctx, obj); {
		case err != nil:
			verdict.Message = fmt.Sprintf("%s; when it will be bound is unknown: %v", verdict.Message, err)
			verdict.Recheck = claimRecheck
		case mode == BindsOnUse:
			return ready("WaitForFirstConsumer", "bound when the first pod uses it")
		case mode == BindingUnknown:
			verdict.Recheck = claimRecheck
		}
		return verdict
	}
}

// mayBindOnUse: a claim that names its volume is bound to that one at once.
func mayBindOnUse(obj *unstructured.Unstructured) bool {
	kind := obj.GroupVersionKind().GroupKind()
	return kind == schema.GroupKind{Kind: "PersistentVolumeClaim"} &&
		text(obj, "status", "phase") != "Lost" && text(obj, "spec", "volumeName") == ""
}
