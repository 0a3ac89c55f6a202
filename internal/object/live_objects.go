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

// LiveObjects maps objects as declared to the same objects in the state that the server
// returned when they were written. It can be nil.
type LiveObjects map[*Info]*Info

// Of returns the state of info that the server returned, or info itself if there is none.
func (s LiveObjects) Of(info *Info) *Info {
	if state := s[info]; state != nil {
		return state
	}
	return info
}

// All calls Of for each object of list, and returns the results in the same order.
func (s LiveObjects) All(list kube.ResourceList) kube.ResourceList {
	states := make(kube.ResourceList, len(list))
	for i, info := range list {
		states[i] = s.Of(info)
	}
	return states
}

// WithState returns a copy of info with the content of live, which the server returned.
func WithState(info *Info, live runtime.Object) *Info {
	state := *info
	_ = state.Refresh(live, true) // cannot fail, because the argument true ignores errors
	return &state
}

// UID returns the UID of an object in a state that the server returned. It is empty for an
// object as declared.
func UID(info *Info) types.UID {
	object, err := meta.Accessor(info.Object)
	if err != nil {
		return ""
	}
	return object.GetUID()
}

// AsUnstructured returns the content of an object as maps and lists. The result can share
// parts with the object, so a change to the result can change the object.
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
