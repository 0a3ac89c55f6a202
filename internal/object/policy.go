// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"strings"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Undecided replaces a value that earlier revisions declared differently: it is not known
// which of the values is on the server. It differs from whatever is declared next, which
// is therefore sent even where a patch is computed from the base alone.
const Undecided = "declared differently by earlier revisions"

// Keeps reports whether a resource policy keeps an object. An unknown policy keeps it,
// too: an object that somebody meant to keep must not be lost because of a typo.
func Keeps(policy string) bool {
	switch strings.ToLower(strings.TrimSpace(policy)) {
	case "", "delete":
		return false
	}
	return true
}

// Policy is the resource policy in the metadata of an object.
func Policy(live *unstructured.Unstructured) string {
	return live.GetAnnotations()[kube.ResourcePolicyAnno]
}

// DeclaredPolicy is the resource policy that an object declares. It is empty where
// several revisions declare it differently: then the newest of them decides.
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

// Contents are the fields of objects. They must not be changed.
func Contents(list kube.ResourceList) []map[string]any {
	var contents []map[string]any
	for _, info := range list {
		if object, ok := info.Object.(*unstructured.Unstructured); ok {
			contents = append(contents, object.Object)
		}
	}
	return contents
}
