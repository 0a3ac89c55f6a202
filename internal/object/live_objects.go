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

// LiveObjects maps each declared object to its state that the server returned when the
// object was written. It can be nil.
type LiveObjects map[*Info]*Info

// Of returns the state that the server returned for info, or info itself if there is none.
func (s LiveObjects) Of(info *Info) *Info {
	if state := s[info]; state != nil {
		return state
	}
	return info
}

// All returns the result of Of for each object in list, in the same order.
func (s LiveObjects) All(list kube.ResourceList) kube.ResourceList {
	states := make(kube.ResourceList, len(list))
	for i, info := range list {
		states[i] = s.Of(info)
	}
	return states
}

// WithState returns a copy of info that contains live, the state that the server returned.
func WithState(info *Info, live runtime.Object) *Info {
	state := *info
	_ = state.Refresh(live, true) // cannot fail, because the argument true ignores errors
	return &state
}

// UID returns the UID of an object whose state the server returned. It is empty for a
// declared object.
func UID(info *Info) types.UID {
	object, err := meta.Accessor(info.Object)
	if err != nil {
		return ""
	}
	return object.GetUID()
}

// AsUnstructured converts an object to maps and lists. The result can share parts with the
// object, so a change to the result can change the object.
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

// Contents returns the content (maps and lists) of each object in list. The caller must not
// change it.
func Contents(list kube.ResourceList) []map[string]any {
	var contents []map[string]any
	for _, info := range list {
		if object, ok := info.Object.(*unstructured.Unstructured); ok {
			contents = append(contents, object.Object)
		}
	}
	return contents
}
