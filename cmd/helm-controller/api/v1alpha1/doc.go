// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 contains the Go types of the kind HelmRequest (docs/reference.md, "HelmRequest").
//
// +kubebuilder:object:generate=true
// +groupName=helm.sh
package v1alpha1
