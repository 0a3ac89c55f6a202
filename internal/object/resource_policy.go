// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"strings"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ConflictingValue is a placeholder in the merged declarations of several earlier revisions
// (see patch.MergeDeclarations). It replaces a value that the revisions declare differently,
// because it is unknown which of the values the server has. The placeholder differs from
// every declared value, so that a patch always sets the newly declared value.
const ConflictingValue = "declared differently by earlier revisions"

// PolicyKeeps reports whether policy, a value of the annotation helm.sh/resource-policy,
// prevents the deletion of the object. An unknown value also prevents it, so that a typo does
// not cause the deletion of an object that must be kept.
func PolicyKeeps(policy string) bool {
	switch strings.ToLower(strings.TrimSpace(policy)) {
	case "", "delete":
		return false
	}
	return true
}

// ResourcePolicy returns the resource policy in the annotations of an object in the cluster.
func ResourcePolicy(live *unstructured.Unstructured) string {
	return live.GetAnnotations()[kube.ResourcePolicyAnno]
}

// DeclaredResourcePolicy returns the resource policy that an object declares. It is empty if
// info is the merged declaration of several revisions with different policies. In this case,
// the caller must use the policy in the newest revision.
func DeclaredResourcePolicy(info *Info) string {
	object, ok := info.Object.(*unstructured.Unstructured)
	if !ok {
		return ""
	}
	if policy := ResourcePolicy(object); policy != ConflictingValue {
		return policy
	}
	return ""
}
