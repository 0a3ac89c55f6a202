// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package luasandbox_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ordered-helm/helm/internal/luasandbox"
)

// TestLimits checks the limits of single functions. TestAttacks checks what they add up to.
func TestLimits(t *testing.T) {
	const tooLong, tooLarge = "a string can have at most 1000 bytes", "the value is too large"
	tests := []struct{ name, script, want string }{
		{"concatenation", `local s = ("x"):rep(600) local t = s .. s`, tooLong},
		{"concatenation in a condition", `local s = ("x"):rep(600) if s .. s then end`, tooLong},
		{"concatenation in a constructor", `local s = ("x"):rep(600) local t = {[s .. s] = 1}`, tooLong},
		{"concatenation in a function", `local s = ("x"):rep(600) function t() return s .. 1 .. s end t()`, tooLong},
		{"concatenation with a metamethod", `local s = ("x"):rep(600) local t = s .. s .. setmetatable({}, {__concat = function() return s end})`, tooLong},
		{"string.rep", `("x"):rep(1001)`, tooLong},
		{"string.format", `string.format("%s%s", ("x"):rep(600), ("x"):rep(600))`, tooLong},
		{"string.format %q", `string.format("%q", ("\n"):rep(600))`, tooLong},
		{"string.gsub", `("x"):rep(600):gsub("x", "yy")`, tooLong},
		{"string.gsub with captures", `("x"):rep(600):gsub(".*", "%0%0")`, tooLong},
		{"table.concat", `table.concat({("x"):rep(600), ("x"):rep(600)})`, tooLong},
		{"table.concat with separators", `table.concat({1, 2, 3}, ("x"):rep(600))`, tooLong},
		{"json.encode", `json.encode({("x"):rep(600), ("x"):rep(600)})`, tooLong},
		{"yaml.encode", `yaml.encode({("x"):rep(600), ("x"):rep(600)})`, tooLong},
		{"index", `local t = {} t[1048577] = 1`, "the index 1048577 is too large"},
		{"index in a constructor", `local t = {[1048577] = 1}`, "the index 1048577 is too large"},
		{"index with rawset", `rawset({}, 1048577, 1)`, "the index 1048577 is too large"},
		{"index with table.insert", `table.insert({}, 1048577, 1)`, "the index 1048577 is too large"},
		{"unpack", `unpack({}, 1, 8001)`, "too many results to unpack"},
		{"a pattern", `("a"):rep(300):find(("a-"):rep(30) .. "b")`, "too many steps"},
		{"recursion", `local function f() f() end f()`, "stack overflow"},
		{"tail calls", `local function f() return f() end f()`, "stack overflow"},
		{"JSON of a circle", `local t = {} t.t = t json.encode(t)`, "nested more than 100 levels"},
		{"JSON that doubles", `local t = {} for i = 1, 60 do t = {t, t} end json.encode(t)`, tooLarge},
		{"JSON of the same value", `local s = {} for i = 1, 99 do s[i] = i end local t = {} for i = 1, 1e5 do t[i] = s end json.encode(t)`, tooLarge},
		{"a result that doubles", `local t = {} for i = 1, 60 do t = {t, t} end return t`, tooLarge},
		{"a result with a large string", `local t = {} for i = 1, 20000 do t[i] = ("x"):rep(1000) end return t`, tooLarge},
		{"JSON of a function", `json.encode({log})`, "a function cannot be converted"},
		{"deep JSON", `json.decode(("["):rep(500))`, "nested more than 100 levels"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			limits := luasandbox.Limits{Time: 10 * time.Second, String: 1000}
			if _, err := run(t, luasandbox.Options{Limits: limits}, tt.script); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}
