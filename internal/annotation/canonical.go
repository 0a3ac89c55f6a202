// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"encoding/json"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

// CanonicalValue returns the string that represents the list of a sequencing annotation.
// It reports whether that differs from the YAML value. The error for a number, boolean,
// map or list of lists is a *ValueError.
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

// JSONList returns a list as JSON, for the value of an annotation.
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

// toJSON encodes a value without escaping < and >, which expressions use.
func toJSON(value any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(value)
	return strings.TrimSuffix(b.String(), "\n"), err
}
