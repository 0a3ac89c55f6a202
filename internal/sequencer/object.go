// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

// child gives the map under a key; nil, which reads as empty, if there is none.
func child(object map[string]any, path ...string) map[string]any {
	for _, key := range path {
		object, _ = object[key].(map[string]any)
	}
	return object
}

// text gives the string under a key, or the empty one.
func text(object map[string]any, key string) string {
	s, _ := object[key].(string)
	return s
}

// truth gives the boolean under a key, or false.
func truth(object map[string]any, key string) bool {
	b, _ := object[key].(bool)
	return b
}

// children gives the maps in the list under a key.
func children(object map[string]any, key string) []map[string]any {
	list, _ := object[key].([]any)
	maps := make([]map[string]any, 0, len(list))
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			maps = append(maps, m)
		}
	}
	return maps
}
