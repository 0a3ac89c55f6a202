// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// ParseObject parses a document to an object, with numbers as in the Kubernetes API
// machinery: integers are not converted to floats. It adds a line break at the end if there
// is none, as EndLine does. For a document without content it returns nil.
func ParseObject(doc string) (map[string]any, error) {
	var object map[string]any
	if strings.HasPrefix(doc, "{") && utiljson.Unmarshal([]byte(doc), &object) == nil {
		return object, nil
	}
	if err := CheckAliases(doc); err != nil {
		return nil, err
	}
	text, err := yaml.YAMLToJSON([]byte(EndLine(doc)))
	if err != nil {
		return nil, err
	}
	err = utiljson.Unmarshal(text, &object)
	return object, err
}
