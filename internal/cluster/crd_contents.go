// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strings"

	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// crdResource is the API resource of CustomResourceDefinitions (CRDs).
var crdResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// CRDNames returns the names of the CRDs in a file. To be fast, it does not parse their
// specs, which make up most of the file. It returns nil if the file contains other objects,
// or if the names cannot be found without parsing everything.
func CRDNames(file []byte) []string {
	texts, err := splitDocuments(string(file))
	if err != nil {
		return nil
	}
	var names []string
	for _, text := range texts {
		head, _, found := strings.Cut(text, "\nspec:")
		var object releaseutil.SimpleHead
		if err := yaml.Unmarshal([]byte(head), &object); err != nil {
			return nil
		}
		switch {
		case object == (releaseutil.SimpleHead{}) && !found: // the document contains only comments
		case object.Kind == "CustomResourceDefinition" && object.Version == crdResource.GroupVersion().String() && object.Metadata != nil && object.Metadata.Name != "":
			names = append(names, object.Metadata.Name)
		default:
			return nil
		}
	}
	return names
}
