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

// claimRecheckInterval is the interval at which the storage class or the events of an unbound
// PersistentVolumeClaim are read again. The watch of the claim does not report their changes.
const claimRecheckInterval = time.Second

// VolumeBindingMode says when a PersistentVolumeClaim is bound to a volume, which its storage
// class determines.
type VolumeBindingMode int

const (
	// BindingUnknown means that the mode could not be determined. A later attempt may
	// succeed.
	BindingUnknown VolumeBindingMode = iota
	// BindsImmediately means that a claim is bound before a pod uses it.
	BindsImmediately
	// BindsOnFirstConsumer means that a claim is bound when the first pod that uses it is
	// scheduled.
	BindsOnFirstConsumer
)

// VolumeBindingModeFunc returns the binding mode of a PersistentVolumeClaim. Its error is
// shown in the status of the claim, and the function is called again later.
type VolumeBindingModeFunc func(ctx context.Context, claim *unstructured.Unstructured) (VolumeBindingMode, error)

// NewEvaluator returns the Evaluator for objects without readiness expressions. It uses
// Compute, except for unbound PersistentVolumeClaims: if binding returns
// BindsOnFirstConsumer, the claim is ready, because the first pod that uses it may be
// deployed only after it is ready.
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

// mayWaitForFirstConsumer reports whether an object is a PersistentVolumeClaim that may be
// bound only when a pod uses it. A claim that names its volume is bound immediately.
func mayWaitForFirstConsumer(obj *unstructured.Unstructured) bool {
	kind := obj.GroupVersionKind().GroupKind()
	return kind == schema.GroupKind{Kind: "PersistentVolumeClaim"} &&
		field.String(obj.Object, "status", "phase") != "Lost" && field.String(obj.Object, "spec", "volumeName") == ""
}
