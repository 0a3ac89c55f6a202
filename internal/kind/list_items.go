// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"maps"
	"strings"

	"github.com/ordered-helm/helm/internal/field"
)

// ListItems reports whether object is a list, and returns its items, each with its kind.
// Like Kubernetes, it considers an object a list if it has items or if its kind is List.
// In a list of one kind, such as ConfigMapList, items can omit their kind.
func ListItems(object map[string]any) (items []map[string]any, isList bool) {
	listKind := field.String(object, "kind")
	if _, hasItems := object["items"].([]any); !hasItems && listKind != "List" {
		return nil, false
	}
	items = field.Maps(object, "items")
	itemKind, _ := strings.CutSuffix(listKind, "List")
	for i, item := range items {
		if field.String(item, "kind") == "" && itemKind != "" && itemKind != listKind {
			items[i] = maps.Clone(item)
			items[i]["kind"], items[i]["apiVersion"] = itemKind, object["apiVersion"]
		}
	}
	return items, true
}
