// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package luasandbox_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/luasandbox"
)

// FuzzValues checks that scripts see Go values as they are: a script that reads everything, and
// sets each field to the value that it has, changes nothing, and a script that encodes and
// decodes a value gets the same one.
func FuzzValues(f *testing.F) {
	for _, seed := range []string{`{}`, `[]`, `null`, `[null, {"a": null}]`, `{"a": [1, 1.5, "x", true, {"b": []}], "": {}}`, `[1e300, -0, 12345678901234567890]`, `"\u0000\ud800"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var value any
		if len(text) > 1000 || strings.Count(text, "[")+strings.Count(text, "{") > 50 || json.Unmarshal([]byte(text), &value) != nil {
			return
		}
		value = map[string]any{"value": value}
		state := newState(t, luasandbox.Options{})
		handler := loadHandler(t, state, `function(v)
			local function walk(v)
				for key, item in pairs(v) do
					if type(item) == "table" then walk(item) end
					v[key] = item
				end
			end
			walk(v)
			local text = json.encode(v)
			assert(json.encode(json.decode(text)) == text)
			assert(yaml.encode(yaml.decode(yaml.encode(json.decode(text)))) == yaml.encode(json.decode(text)))
		end`)
		argument, err := state.NewValue(value)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := state.Call(t.Context(), handler, argument); err != nil {
			t.Fatal(err)
		}
		if got, changed, err := argument.Go(t.Context()); err != nil || changed || !reflect.DeepEqual(got, value) {
			t.Errorf("got %v, %v and %#v, want %#v", err, changed, got, value)
		}
	})
}
