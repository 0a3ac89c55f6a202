// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/field"
)

// claimRecheckInterval is the time after which the storage class of an unbound claim, or
// its events, are read again. Changes to these do not change the claim, so no watch reports
// them.
const claimRecheckInterval = time.Second

// VolumeBindingMode is the time at which a PersistentVolumeClaim is bound.
type VolumeBindingMode int

const (
	// BindingUnknown means that the mode is not known, possibly only for now.
	BindingUnknown VolumeBindingMode = iota
	// BindsImmediately claims are bound before a pod uses them.
	BindsImmediately
	// BindsOnFirstConsumer claims are bound when the first pod that uses them is
	// scheduled.
	BindsOnFirstConsumer
)

// VolumeBindingModeFunc returns the binding mode of a PersistentVolumeClaim. Its error is
// added to the message of the claim, and the function is called again later.
type VolumeBindingModeFunc func(ctx context.Context, claim *unstructured.Unstructured) (VolumeBindingMode, error)

// NewEvaluator returns the Evaluator for objects without readiness expressions. It is
// Compute, except that a claim which is bound on first use is ready. The pod that uses
// the claim may belong to a later part of the same release.
func NewEvaluator(binding VolumeBindingModeFunc) Evaluator {
	return func(ctx context.Context, obj *unstructured.Unstructured) Status {
		verdict := Compute(obj)
		if verdict.State != InProgress || !mayWaitForFirstConsumer(obj) {
			return verdict
		}
		switch mode, err := binding(ctx, obj); {
		case err != nil:
			verdict.Message = fmt.Sprintf("%s; cannot determine the volume binding mode: %v", verdict.Message, err)
			verdict.RecheckAfter = claimRecheckInterval
		case mode == BindsOnFirstConsumer:
			return ready("WaitForFirstConsumer", "will be bound when a pod uses it")
		case mode == BindingUnknown:
			verdict.RecheckAfter = claimRecheckInterval
		}
		return verdict
	}
}

// mayWaitForFirstConsumer reports whether an object is a claim that may wait for its
// first consumer. A claim that names its volume does not.
func mayWaitForFirstConsumer(obj *unstructured.Unstructured) bool {
	kind := obj.GroupVersionKind().GroupKind()
	return kind == schema.GroupKind{Kind: "PersistentVolumeClaim"} &&
		field.String(obj.Object, "status", "phase") != "Lost" && field.String(obj.Object, "spec", "volumeName") == ""
}
