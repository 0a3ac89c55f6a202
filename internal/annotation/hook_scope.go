// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package annotation

// The values of HookScope and HookScopeField.
const (
	// HookScopeRelease runs the hooks before and after everything in the release, as Helm does.
	HookScopeRelease = "release"
	// HookScopeChart runs the hooks before and after the nodes of the chart.
	HookScopeChart = "chart"
)

// ReadHookScope returns value, the value of HookScope or HookScopeField with the given key, or "" if it is
// nil or empty. The error is a *ValueError.
func ReadHookScope(key string, value any) (string, error) {
	switch value {
	case nil, "":
		return "", nil
	case HookScopeRelease, HookScopeChart:
		return value.(string), nil
	}
	return "", newValueError(key, value, "must be chart or release")
}
