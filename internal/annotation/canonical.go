// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/ordered-helm/helm/internal/text"
)

// CanonicalValue returns the canonical form of an annotation whose value is a list: a JSON
// list in a string, because Kubernetes accepts only strings. change is false if the value
// needs no conversion, because it is a string already. For a number, boolean, map or list
// of lists it returns a *ValueError.
func CanonicalValue(key string, value *yaml.Node) (canonical string, change bool, err error) {
	v := DecodeNode(value)
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

// JSONList returns items as a JSON list, the canonical value of an annotation that is a
// list.
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
