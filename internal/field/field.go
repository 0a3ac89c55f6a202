// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package field reads fields of objects that were decoded from JSON or YAML. A path is a
// sequence of keys that lead through nested mappings to a field. If the field does not exist
// or has another type, the functions return the zero value. They do not copy what they return.
package field

import "strconv"

// Get returns the value at a path, or nil if there is none.
func Get(object map[string]any, path ...string) any {
	if len(path) == 0 {
		return object
	}
	return Map(object, path[:len(path)-1]...)[path[len(path)-1]]
}

// Map returns the mapping at a path.
func Map(object map[string]any, path ...string) map[string]any {
	for _, key := range path {
		object, _ = object[key].(map[string]any)
	}
	return object
}

// String returns the string at a path.
func String(object map[string]any, path ...string) string {
	text, _ := Get(object, path...).(string)
	return text
}

// Bool returns the boolean at a path.
func Bool(object map[string]any, path ...string) bool {
	value, _ := Get(object, path...).(bool)
	return value
}

// Maps returns the mappings in the list at a path. It skips items of other types.
func Maps(object map[string]any, path ...string) []map[string]any {
	list, _ := Get(object, path...).([]any)
	maps := make([]map[string]any, 0, len(list))
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			maps = append(maps, m)
		}
	}
	return maps
}

// Int returns the integer at a path, or fallback if there is none.
func Int(object map[string]any, fallback int64, path ...string) int64 {
	if value, ok := AsInt(Get(object, path...)); ok {
		return value
	}
	return fallback
}

// AsInt converts a decoded value to an integer, and reports whether that is possible. It
// also accepts strings, because some third-party controllers write numbers as strings.
func AsInt(value any) (int64, bool) {
	switch v := value.(type) {
	case int64:
		return v, true
	case float64:
		return int64(v), v == float64(int64(v))
	case string:
		parsed, err := strconv.ParseInt(v, 10, 64)
		return parsed, err == nil
	}
	return 0, false
}

// StatusCondition is an entry of status.conditions.
type StatusCondition struct {
	Type, Status, Reason, Message string
}

// Conditions returns the entries of status.conditions that are mappings.
func Conditions(object map[string]any) []StatusCondition {
	entries := Maps(object, "status", "conditions")
	conditions := make([]StatusCondition, 0, len(entries))
	for _, e := range entries {
		conditions = append(conditions, StatusCondition{
			Type: String(e, "type"), Status: String(e, "status"), Reason: String(e, "reason"), Message: String(e, "message"),
		})
	}
	return conditions
}

// FindCondition returns the first condition with this type, or the zero value.
func FindCondition(object map[string]any, conditionType string) StatusCondition {
	for _, c := range Conditions(object) {
		if c.Type == conditionType {
			return c
		}
	}
	return StatusCondition{}
}
