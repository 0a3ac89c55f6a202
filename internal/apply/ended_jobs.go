// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/readiness"
)

// HasEnded reports whether info is a Job that an earlier revision declares in the same way,
// and that had ended or no longer existed when the operation applied it. In the latter case,
// the operation has created it again. live is the state that the server returned when the
// Job was applied.
func (a *Applier) HasEnded(info, live *object.Info) bool {
	if !object.IsJob(info) {
		return false
	}
	if a.IsUnchanged(info) {
		job, ok := live.Object.(*unstructured.Unstructured)
		return ok && readiness.ComputeCompletion(job).State != readiness.InProgress
	}
	return slices.Contains(a.Created(), info) && a.isDeclaredAlike(info)
}

// isDeclaredAlike reports whether the earlier revisions declare an object with the same spec.
func (a *Applier) isDeclaredAlike(info *object.Info) bool {
	earlier := a.config.Inventory.Find(info)
	if earlier == nil {
		return false
	}
	before, isBefore := earlier.Object.(*unstructured.Unstructured)
	now, isNow := info.Object.(*unstructured.Unstructured)
	return isBefore && isNow && reflect.DeepEqual(before.Object["spec"], now.Object["spec"])
}
