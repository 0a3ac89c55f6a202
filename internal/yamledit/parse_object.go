// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// ParseObject parses a YAML or JSON document. As in Kubernetes' API machinery, integers become
// int64 values, not floats. The document need not end with a line break (see
// WithFinalNewline). The result is nil if the document has no content.
func ParseObject(doc string) (map[string]any, error) {
	var object map[string]any
	if strings.HasPrefix(doc, "{") && utiljson.Unmarshal([]byte(doc), &object) == nil {
		return object, nil
	}
	if err := CheckAliases(doc); err != nil {
		return nil, err
	}
	text, err := yaml.YAMLToJSON([]byte(WithFinalNewline(doc)))
	if err != nil {
		return nil, err
	}
	err = utiljson.Unmarshal(text, &object)
	return object, err
}
