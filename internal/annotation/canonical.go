// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"encoding/json"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

// CanonicalValue gives the string that carries a list under one of our keys, where
// the value as YAML has it is not a string already. A number, boolean, map or
// list of lists is an error of type *ValueError.
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

// JSONList writes a list in the form in which an annotation can carry it.
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

// toJSON leaves < and > as they are: expressions have them.
func toJSON(value any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(value)
	return strings.TrimSuffix(b.String(), "\n"), err
}
