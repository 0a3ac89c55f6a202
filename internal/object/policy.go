// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"strings"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Undecided replaces, in the merged declaration of several earlier revisions, a value that
// they declare differently, because it is not known which of the values is on the server.
// It differs from any declared value, so that the next declared value is sent even if a
// patch is computed without the live object.
const Undecided = "declared differently by earlier revisions"

// Keeps reports whether policy, a value of the annotation helm.sh/resource-policy, prevents
// the deletion of an object. An unknown value prevents it, too, so that a typo does not
// delete an object that must be kept.
func Keeps(policy string) bool {
	switch strings.ToLower(strings.TrimSpace(policy)) {
	case "", "delete":
		return false
	}
	return true
}

// Policy returns the resource policy in the annotations of an object in the cluster.
func Policy(live *unstructured.Unstructured) string {
	return live.GetAnnotations()[kube.ResourcePolicyAnno]
}

// DeclaredPolicy returns the resource policy that an object declares. It is empty if info
// is the merged declaration of several revisions that declare different policies; the
// newest revision decides then.
func DeclaredPolicy(info *Info) string {
	object, ok := info.Object.(*unstructured.Unstructured)
	if !ok {
		return ""
	}
	if policy := Policy(object); policy != Undecided {
		return policy
	}
	return ""
}

// Contents returns the content of each object in list. The caller must not change it.
func Contents(list kube.ResourceList) []map[string]any {
	var contents []map[string]any
	for _, info := range list {
		if object, ok := info.Object.(*unstructured.Unstructured); ok {
			contents = append(contents, object.Object)
		}
	}
	return contents
}
