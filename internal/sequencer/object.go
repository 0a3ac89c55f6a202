// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

// mapField returns the map at a path, or nil.
func mapField(object map[string]any, path ...string) map[string]any {
	for _, key := range path {
		object, _ = object[key].(map[string]any)
	}
	return object
}

// stringField returns the string with a key, or "".
func stringField(object map[string]any, key string) string {
	s, _ := object[key].(string)
	return s
}

// boolField returns the boolean with a key, or false.
func boolField(object map[string]any, key string) bool {
	b, _ := object[key].(bool)
	return b
}

// listField returns the maps in the list with a key.
func listField(object map[string]any, key string) []map[string]any {
	list, _ := object[key].([]any)
	maps := make([]map[string]any, 0, len(list))
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			maps = append(maps, m)
		}
	}
	return maps
}
