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

// claimRecheckInterval is how long an unbound claim rests before its class, or its
// events, are asked again: neither changes the claim, so no watch tells of it.
const claimRecheckInterval = time.Second

// VolumeBindingMode is when a volume claim is bound.
type VolumeBindingMode int

const (
	// BindingUnknown means that it cannot be told, or not yet.
	BindingUnknown VolumeBindingMode = iota
	// BindsImmediately claims are bound without anybody using them.
	BindsImmediately
	// BindsOnFirstConsumer claims are bound only when a pod that uses them is scheduled.
	BindsOnFirstConsumer
)

// VolumeBindingModeFunc tells when a PersistentVolumeClaim is bound. An error is shown
// in the claim's message; the claim is asked about again later.
type VolumeBindingModeFunc func(ctx context.Context, claim *unstructured.Unstructured) (VolumeBindingMode, error)

// NewEvaluator returns the Evaluator for objects without rules of their own: Compute,
// with the exception that a claim which is bound on use does not block. Its pod
// may come later than the claim, even in a later part of the same release.
func NewEvaluator(binding VolumeBindingModeFunc) Evaluator {
	return func(ctx context.Context, obj *unstructured.Unstructured) Status {
		verdict := Compute(obj)
		if verdict.State != InProgress || !mayWaitForFirstConsumer(obj) {
			return verdict
		}
		switch mode, err := binding(ctx, obj); {
		case err != nil:
			verdict.Message = fmt.Sprintf("%s; when it will be bound is unknown: %v", verdict.Message, err)
			verdict.RecheckAfter = claimRecheckInterval
		case mode == BindsOnFirstConsumer:
			return ready("WaitForFirstConsumer", "bound when the first pod uses it")
		case mode == BindingUnknown:
			verdict.RecheckAfter = claimRecheckInterval
		}
		return verdict
	}
}

// mayWaitForFirstConsumer: a claim that names its volume is bound to that one at once.
func mayWaitForFirstConsumer(obj *unstructured.Unstructured) bool {
	kind := obj.GroupVersionKind().GroupKind()
	return kind == schema.GroupKind{Kind: "PersistentVolumeClaim"} &&
		stringField(obj, "status", "phase") != "Lost" && stringField(obj, "spec", "volumeName") == ""
}
