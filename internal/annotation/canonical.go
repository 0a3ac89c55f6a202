// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/ordered-helm/helm/internal/text"
)

// CanonicalValue converts value, the value of a list annotation with the given key, to
// canonical form: a JSON list in a string, because Kubernetes accepts only strings. change
// is false if value needs no conversion, because it is already a string or null. If value
// is a number, a boolean, a map or a list of lists, the error is a *ValueError.
func CanonicalValue(key string, value *yaml.Node) (canonical string, change bool, err error) {
	v := DecodeYAML(value)
	switch v.(type) {
	case nil, string:
		return "", false, nil
	}
	items, err := ReadItems(key, v)
	if err != nil {
		return "", false, err
	}
	canonical, err = JSONList(items)
	return canonical, true, err
}

// JSONList encodes items as a JSON list: the canonical form of an annotation that is a list.
func JSONList(items []string) (string, error) {
	if items == nil {
		items = []string{}
	}
	list, err := text.JSON(items)
	if err != nil {
		return "", fmt.Errorf("write a list as JSON: %w", err)
	}
	return list, nil
}
