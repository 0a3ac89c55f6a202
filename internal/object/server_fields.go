// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package object

import "maps"

// WithoutServerFields returns a copy of content, an object, without its status and the metadata that only the
// server sets.
func WithoutServerFields(content map[string]any) map[string]any {
	content = maps.Clone(content)
	delete(content, "status")
	if metadata, ok := content["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		for _, field := range []string{"creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"} {
			delete(metadata, field)
		}
		content["metadata"] = metadata
	}
	return content
}
