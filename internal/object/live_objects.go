// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"fmt"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// LiveObjects maps declared objects to the objects in the state that the server returned. It can
// be nil.
type LiveObjects map[*Info]*Info

// Of returns an object in the state that the server returned, or as declared if the server
// has not returned a state.
func (s LiveObjects) Of(info *Info) *Info {
	if state := s[info]; state != nil {
		return state
	}
	return info
}

// All calls Of for each object of a list.
func (s LiveObjects) All(list kube.ResourceList) kube.ResourceList {
	states := make(kube.ResourceList, len(list))
	for i, info := range list {
		states[i] = s.Of(info)
	}
	return states
}

// WithState returns a copy of an object with the state that the server returned.
func WithState(info *Info, live runtime.Object) *Info {
	state := *info
	_ = state.Refresh(live, true) // cannot fail, because the argument true ignores errors
	return &state
}

// UID returns the UID of an object in the state that the server returned. It is empty for
// an object as declared.
func UID(info *Info) types.UID {
	object, err := meta.Accessor(info.Object)
	if err != nil {
		return ""
	}
	return object.GetUID()
}

// AsUnstructured converts an object to unstructured content. Changes to the result can
// change the object.
func AsUnstructured(object runtime.Object) (*unstructured.Unstructured, error) {
	if u, ok := object.(*unstructured.Unstructured); ok {
		return u, nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("%T cannot be read as an object: %w", object, err)
	}
	return &unstructured.Unstructured{Object: content}, nil
}
