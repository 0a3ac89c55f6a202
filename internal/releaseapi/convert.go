// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releaseapi

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Object is a *Release or a *ReleaseVersion.
type Object interface {
	metav1.Object
	groupVersionKind() schema.GroupVersionKind
	unknownFields() []string
	setUnknownFields(fields []string)
	setKind()
}

func (*Release) groupVersionKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: Group, Version: Version, Kind: ReleaseKind}
}

func (r *Release) unknownFields() []string          { return r.UnknownFields }
func (r *Release) setUnknownFields(fields []string) { r.UnknownFields = fields }
func (r *Release) setKind()                         { r.SetGroupVersionKind(r.groupVersionKind()) }

func (*ReleaseVersion) groupVersionKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: Group, Version: Version, Kind: ReleaseVersionKind}
}

func (v *ReleaseVersion) unknownFields() []string          { return v.UnknownFields }
func (v *ReleaseVersion) setUnknownFields(fields []string) { v.UnknownFields = fields }
func (v *ReleaseVersion) setKind()                         { v.SetGroupVersionKind(v.groupVersionKind()) }

// ToUnstructured converts a *Release or *ReleaseVersion for Kubernetes clients.
func ToUnstructured(object Object) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", describe(object), err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(object.groupVersionKind())
	return u, nil
}

// FromUnstructured converts what a Kubernetes client has read to object, a *Release or
// *ReleaseVersion, which must be empty. It records fields that this program does not know.
func FromUnstructured(u *unstructured.Unstructured, object Object) error {
	if got, want := u.GroupVersionKind(), object.groupVersionKind(); got != want {
		return fmt.Errorf("decode %s %q: it is of the kind %s", want.Kind, u.GetName(), got)
	}
	err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(u.Object, object, true)
	strict, isStrict := runtime.AsStrictDecodingError(err)
	if err != nil && !isStrict {
		return fmt.Errorf("decode %s %s/%s: %w", object.groupVersionKind().Kind, u.GetNamespace(), u.GetName(), err)
	}
	object.setKind()
	var unknown []string
	if isStrict {
		for _, e := range strict.Errors() {
			field := strings.Trim(strings.TrimPrefix(e.Error(), "unknown field "), `"`)
			if !strings.HasPrefix(field, "metadata.") { // managed by Kubernetes, which may be newer
				unknown = append(unknown, field)
			}
		}
	}
	object.setUnknownFields(unknown)
	return nil
}

func describe(object Object) string {
	return fmt.Sprintf("%s %s/%s", object.groupVersionKind().Kind, object.GetNamespace(), object.GetName())
}
