// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// ParseObject parses a document as the API machinery does: integers remain integers. It
// completes the last line first, so that a block scalar at the end keeps its line break. It
// returns nil for a document without content.
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
