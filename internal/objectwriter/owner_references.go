// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package objectwriter

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ordered-helm/helm/internal/object"
)

// withOwner returns target, the declaration of an object, with the reference to the Release that owns it. before are
// the owner references that the object has.
func (s *sender) withOwner(info *object.Info, target *unstructured.Unstructured, before []metav1.OwnerReference) *unstructured.Unstructured {
	references := s.release.References(info, target, before)
	for _, declared := range target.GetOwnerReferences() {
		if !slices.ContainsFunc(references, func(r metav1.OwnerReference) bool { return r.UID == declared.UID }) {
			references = append(slices.Clip(references), declared)
		}
	}
	if slices.Equal(references, target.GetOwnerReferences()) {
		return target
	}
	target = target.DeepCopy()
	target.SetOwnerReferences(references)
	return target
}

// withOwners returns the declaration and the base of a change such that a patch sets the reference to the Release,
// and leaves references to other owners as they are. The reference is not declared, so without this a patch could
// remove it.
func (s *sender) withOwners(ch *objectChange) (info *object.Info, base runtime.Object, err error) {
	before := ch.live.GetOwnerReferences()
	if s.release == nil && slices.Equal(s.release.References(ch.info, ch.live, before), before) {
		return ch.info, ch.base, nil
	}
	declared, err := object.AsUnstructured(ch.info.Object)
	if err != nil {
		return nil, nil, err
	}
	original, err := object.AsUnstructured(ch.base)
	if err != nil {
		return nil, nil, err
	}
	changed := *ch.info
	changed.Object = s.withOwner(ch.info, declared, before)
	if !slices.Equal(original.GetOwnerReferences(), before) {
		original = original.DeepCopy()
		original.SetOwnerReferences(before)
	}
	return &changed, original, nil
}
