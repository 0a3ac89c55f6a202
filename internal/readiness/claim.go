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

// claimRecheckInterval is the time after which an unbound PersistentVolumeClaim (claim, for
// short) is judged again, by reading its storage class or its events. Changes of these do
// not change the claim, so the watch of the claim does not report them.
const claimRecheckInterval = time.Second

// VolumeBindingMode says when the storage class of a claim binds it to a volume.
type VolumeBindingMode int

const (
	// BindingUnknown means that the mode could not be found. It may be found later.
	BindingUnknown VolumeBindingMode = iota
	// BindsImmediately means that a claim is bound before a pod uses it.
	BindsImmediately
	// BindsOnFirstConsumer means that a claim is bound when the first pod that uses it is
	// scheduled.
	BindsOnFirstConsumer
)

// VolumeBindingModeFunc returns the binding mode of a claim. If it returns an error, the
// error is shown in the status of the claim, and the function is called again later.
type VolumeBindingModeFunc func(ctx context.Context, claim *unstructured.Unstructured) (VolumeBindingMode, error)

// NewEvaluator returns the Evaluator for objects without readiness expressions. It returns
// the status of Compute, except that an unbound claim is ready if binding returns
// BindsOnFirstConsumer: the pod that uses the claim may belong to a later node of the same
// release.
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

// mayWaitForFirstConsumer reports whether an object is a claim whose binding may depend on
// the binding mode of its storage class. This is not the case for a claim that names its
// volume.
func mayWaitForFirstConsumer(obj *unstructured.Unstructured) bool {
	kind := obj.GroupVersionKind().GroupKind()
	return kind == schema.GroupKind{Kind: "PersistentVolumeClaim"} &&
		field.String(obj.Object, "status", "phase") != "Lost" && field.String(obj.Object, "spec", "volumeName") == ""
}
