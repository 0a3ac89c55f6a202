// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"encoding/json"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

// LegalValue gives the string that carries a list under one of our keys, where
// the value as YAML has it is not a string already. A number, boolean, map or
// list of lists is an error of type *ValueError.
func LegalValue(key string, value *yaml.Node) (text string, change bool, err error) {
	if value.Kind == yaml.ScalarNode && (value.ShortTag() == "!!str" || value.ShortTag() == "!!null") {
		return "", false, nil
	}
	var v any
	if err := value.Decode(&v); err != nil {
		return "", false, invalid(key, value.Value, "cannot be read: %v", err)
	}
	items, err := Items(key, v)
	if err != nil {
		return "", false, err
	}
	text, err = JSONList(items)
	return text, true, err
}

// JSONList writes a list in the form in which an annotation can carry it.
func JSONList(items []string) (string, error) {
	if items == nil {
		items = []string{}
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // expressions have < and > in them
	if err := enc.Encode(items); err != nil {
		return "", fmt.Errorf("write a list as JSON: %w", err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
