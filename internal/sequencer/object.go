// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

// mapField gives the map under a key; nil, which reads as empty, if there is none.
func mapField(object map[string]any, path ...string) map[string]any {
	for _, key := range path {
		object, _ = object[key].(map[string]any)
	}
	return object
}

// stringField gives the string under a key, or the empty one.
func stringField(object map[string]any, key string) string {
	s, _ := object[key].(string)
	return s
}

// boolField gives the boolean under a key, or false.
func boolField(object map[string]any, key string) bool {
	b, _ := object[key].(bool)
	return b
}

// listField gives the maps in the list under a key.
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
