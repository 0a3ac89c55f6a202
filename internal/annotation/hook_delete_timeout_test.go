// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestHookDeleteTimeout(t *testing.T) {
	tests := []struct {
		name, value string
		want        time.Duration
	}{
		{"seconds", "30", 30 * time.Second},
		{"none to wait", "0", 0},
		{"white space is trimmed", " \t90\n", 90 * time.Second},
		{"zeros in front", "007", 7 * time.Second},
		{"the most", "9223372036", 9223372036 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, set, err := ReadHookDeleteTimeout(map[string]string{HookDeleteTimeout: tt.value})
			if got != tt.want || !set || err != nil {
				t.Errorf("got %s, %t, %v, want %s", got, set, err, tt.want)
			}
		})
	}
	for _, absent := range []map[string]string{nil, {}, {"helm.sh/hook-weight": "5"}} {
		if got, set, err := ReadHookDeleteTimeout(absent); got != 0 || set || err != nil {
			t.Errorf("absent in %v: got %s, %t, %v", absent, got, set, err)
		}
	}
}

// TestHookDeleteTimeoutErrors checks that errors name the key and the value.
func TestHookDeleteTimeoutErrors(t *testing.T) {
	const notWhole = "must be a whole number of seconds without a unit"
	tests := []struct{ name, value, reason string }{
		{"empty", "", "must be a number of seconds; omit the annotation"},
		{"nothing but white space", " \n", "must be a number of seconds; omit the annotation"},
		{"a unit", "30s", notWhole},
		{"a fraction", "1.5", notWhole},
		{"an exponent", "1e3", notWhole},
		{"less than none", "-1", notWhole},
		{"a sign", "+1", notWhole},
		{"hexadecimal", "0x10", notWhole},
		{"groups of digits", "1_000", notWhole},
		{"two numbers", "1 2", notWhole},
		{"a word", "true", notWhole},
		{"digits beyond ASCII", "٣", notWhole},
		{"one more than the most", "9223372037", "must be at most 9223372036 seconds"},
		{"one that wraps around", "18446744073709551617", "must be at most 9223372036 seconds"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, set, err := ReadHookDeleteTimeout(map[string]string{HookDeleteTimeout: tt.value})
			var value *ValueError
			if !errors.As(err, &value) || value.Key != HookDeleteTimeout || value.Value != tt.value {
				t.Fatalf("got %s, %v", got, err)
			}
			if !set || got != 0 || !strings.Contains(err.Error(), tt.reason) {
				t.Errorf("got %s, %t, %v, want %s", got, set, err, tt.reason)
			}
		})
	}
}

// FuzzHookDeleteTimeout checks that the result equals the value in the annotation, and is
// never negative.
func FuzzHookDeleteTimeout(f *testing.F) {
	addSeeds(f)
	for _, seed := range []string{"0", " 30\n", "9223372036", "9223372037", "18446744073709551617", "+1", "-0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		d, set, err := ReadHookDeleteTimeout(map[string]string{HookDeleteTimeout: value})
		if !set {
			t.Fatal("not set")
		}
		if err != nil {
			return
		}
		digits := strings.TrimLeft(strings.TrimSpace(value), "0")
		if got := strings.TrimLeft(strconv.FormatInt(int64(d/time.Second), 10), "0"); got != digits || d%time.Second != 0 || d < 0 {
			t.Fatalf("%q is %s", value, d)
		}
	})
}
