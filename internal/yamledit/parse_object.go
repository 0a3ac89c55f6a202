// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"strings"

	yamlv2 "go.yaml.in/yaml/v2"
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
	return ParseYAMLObject(doc)
}

// ParseYAMLObject is like ParseObject, except that it parses JSON documents as YAML, too. A
// few numbers have another value then.
func ParseYAMLObject(doc string) (map[string]any, error) {
	if err := CheckAliases(doc); err != nil {
		return nil, err
	}
	text := []byte(WithFinalNewline(doc))
	var content map[any]any
	if yamlv2.Unmarshal(text, &content) == nil {
		if object, simple := simpleMap(content); simple {
			return object, nil
		}
	}
	asJSON, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, err
	}
	var object map[string]any
	err = utiljson.Unmarshal(asJSON, &object)
	return object, err
}

// simpleMap converts what the YAML parser returns to what the JSON parser would return, for
// maps whose keys are strings. simple is false if m contains anything whose conversion
// requires more rules, such as a float.
//
// The way over JSON, which has all rules, takes twice as long, and almost all documents are
// simple.
func simpleMap(m map[any]any) (object map[string]any, simple bool) {
	if m == nil {
		return nil, true
	}
	object = make(map[string]any, len(m))
	for k, v := range m {
		key, isString := k.(string)
		if !isString {
			return nil, false
		}
		if object[key], simple = simpleValue(v); !simple {
			return nil, false
		}
	}
	return object, true
}

func simpleValue(v any) (value any, simple bool) {
	switch v := v.(type) {
	case nil, string, bool, int64:
		return v, true
	case int:
		return int64(v), true
	case map[any]any:
		if v == nil {
			return nil, false
		}
		return simpleMap(v)
	case []any:
		if v == nil {
			return nil, false
		}
		list := make([]any, len(v))
		for i := range v {
			if list[i], simple = simpleValue(v[i]); !simple {
				return nil, false
			}
		}
		return list, true
	}
	return nil, false
}
