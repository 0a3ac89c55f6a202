// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"errors"
	"strings"
	"testing"
)

func TestHookPolicy(t *testing.T) {
	for _, tt := range []struct{ name, value, want string }{
		{"managed", "managed", HookManaged},
		{"unmanaged", "unmanaged", HookUnmanaged},
		{"in another form", " Managed\n", HookManaged},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := ReadHookPolicy(map[string]string{HookPolicy: tt.value}); got != tt.want || err != nil {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
	if got, err := ReadHookPolicy(map[string]string{"helm.sh/hook": "pre-install"}); got != "" || err != nil {
		t.Errorf("without the annotation: got %q, %v", got, err)
	}
}

// TestHookPolicyErrors checks that errors name the key, the value and the nearest valid value.
func TestHookPolicyErrors(t *testing.T) {
	for _, tt := range []struct{ name, value, reason string }{
		{"empty", "", "omit the annotation"},
		{"a typo", "manged", `did you mean "managed"?`},
		{"a typo in upper case", "UNMANGED", `did you mean "unmanaged"?`},
		{"a boolean", "true", `must be "managed" or "unmanaged"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := CheckHook(map[string]string{HookPolicy: tt.value})
			var value *ValueError
			if !errors.As(err, &value) || value.Key != HookPolicy || value.Value != tt.value || !strings.Contains(value.Reason, tt.reason) {
				t.Errorf("got %v", err)
			}
		})
	}
}
