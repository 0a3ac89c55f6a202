// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package field reads fields of objects that were decoded from JSON or YAML. For a field
// that does not exist or has another type, it returns the zero value. It copies nothing.
package field

import "strconv"

// Get returns the value at a path, or nil.
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

// Maps returns the mappings in the list at a path.
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

// Int returns the integer at a path, or the fallback.
func Int(object map[string]any, fallback int64, path ...string) int64 {
	if value, ok := AsInt(Get(object, path...)); ok {
		return value
	}
	return fallback
}

// AsInt converts a value to an integer. It accepts strings, because some controllers
// outside Kubernetes write numbers as strings.
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

// Condition is an entry of status.conditions.
type Condition struct {
	Type, Status, Reason, Message string
}

// Conditions returns the entries of status.conditions that are mappings.
func Conditions(object map[string]any) []Condition {
	entries := Maps(object, "status", "conditions")
	conditions := make([]Condition, 0, len(entries))
	for _, e := range entries {
		conditions = append(conditions, Condition{
			Type: String(e, "type"), Status: String(e, "status"), Reason: String(e, "reason"), Message: String(e, "message"),
		})
	}
	return conditions
}

// FindCondition returns the condition of a type, or the zero value.
func FindCondition(object map[string]any, conditionType string) Condition {
	for _, c := range Conditions(object) {
		if c.Type == conditionType {
			return c
		}
	}
	return Condition{}
}
