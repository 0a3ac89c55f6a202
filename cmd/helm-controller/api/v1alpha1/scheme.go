// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion returns the API group and version of HelmRequest.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: "helm.sh", Version: "v1alpha1"}
}

// Kind is the kind of a HelmRequest.
const Kind = "HelmRequest"

// AddToScheme adds HelmRequest and HelmRequestList to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion(), &HelmRequest{}, &HelmRequestList{})
	metav1.AddToGroupVersion(s, GroupVersion())
	return nil
}
