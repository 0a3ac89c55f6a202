// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"encoding/json"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

// CanonicalValue returns the canonical form of an annotation whose value is a list: a JSON
// list in a string, because Kubernetes accepts only strings. change is false if the value
// needs no conversion, because it is a string already. For a number, boolean, map or list
// of lists it returns a *ValueError.
func CanonicalValue(key string, value *yaml.Node) (text string, change bool, err error) {
	v := DecodeNode(value)
	switch v.(type) {
	case nil, string:
		return "", false, nil
	}
	items, err := ReadItems(key, v)
	if err != nil {
		return "", false, err
	}
	text, err = JSONList(items)
	return text, true, err
}

// JSONList returns items as a JSON list, the canonical value of an annotation that is a
// list.
func JSONList(items []string) (string, error) {
	if items == nil {
		items = []string{}
	}
	text, err := toJSON(items)
	if err != nil {
		return "", fmt.Errorf("write a list as JSON: %w", err)
	}
	return text, nil
}

// toJSON encodes a value as JSON. It does not escape < and >, because expressions contain
// them.
func toJSON(value any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(value)
	return strings.TrimSuffix(b.String(), "\n"), err
}
