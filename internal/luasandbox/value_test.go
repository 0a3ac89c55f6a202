// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package luasandbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/luasandbox"
)

// loadHandler loads a script that passes a function to on, and returns the function.
func loadHandler(t testing.TB, state *luasandbox.State, script string) *luasandbox.Function {
	t.Helper()
	var handler *luasandbox.Function
	on := func(_ context.Context, arguments []any) ([]any, error) {
		var ok bool
		if handler, ok = arguments[0].(*luasandbox.Function); !ok {
			return nil, errors.New("no function")
		}
		return nil, nil
	}
	if err := state.Register("events", map[string]luasandbox.GoFunction{"on": on}); err != nil {
		t.Fatal(err)
	}
	if err := state.Load(t.Context(), "handler.lua", "events.on("+script+")"); err != nil {
		t.Fatal(err)
	}
	return handler
}

func TestValues(t *testing.T) {
	type named map[string]any
	shared := map[string]any{"a": 1}
	tests := []struct {
		name    string
		value   any
		script  string
		want    any
		changed bool
	}{
		{"nothing", map[string]any{"a": map[string]any{"b": 1}}, ``, map[string]any{"a": map[string]any{"b": 1}}, false},
		{"reading", map[string]any{"a": map[string]any{"b": []any{1, 2}}}, `assert(v.a.b[2] == 2 and #v.a.b == 2) for k in pairs(v.a) do assert(k == "b") end`,
			map[string]any{"a": map[string]any{"b": []any{1, 2}}}, false},
		{"the same value", map[string]any{"a": 1}, `v.a = 1 v.b = nil`, map[string]any{"a": 1}, false},
		{"a scalar", map[string]any{"a": 1, "b": int64(1) << 60}, `v.a = 2`, map[string]any{"a": int64(2), "b": int64(1) << 60}, true},
		{"a new field", map[string]any{}, `v.a = {b = "x", c = {1.5, true}}`, map[string]any{"a": map[string]any{"b": "x", "c": []any{1.5, true}}}, true},
		{"a removed field", map[string]any{"a": 1, "b": 2}, `v.a = nil`, map[string]any{"b": 2}, true},
		{"a nested field", map[string]any{"a": map[string]any{"b": map[string]any{"c": 1}}, "d": shared}, `v.a.b.c = "x"`,
			map[string]any{"a": map[string]any{"b": map[string]any{"c": "x"}}, "d": shared}, true},
		{"list items", []any{"a", "b", "c"}, `table.remove(v, 1) table.insert(v, "d")`, []any{"b", "c", "d"}, true},
		{"the order of a list", []any{"b", "a"}, `table.sort(v)`, []any{"a", "b"}, true},
		{"length", []any{"a"}, `v[#v + 1] = "b"`, []any{"a", "b"}, true},
		{"rawset", map[string]any{"a": 1}, `rawset(v, "a", 2)`, map[string]any{"a": int64(2)}, true},
		{"next", map[string]any{"b": 1, "a": 2}, `assert(next(v) == "a")`, map[string]any{"b": 1, "a": 2}, false},
		{"unpack", []any{1, 2}, `local a, b = unpack(v) assert(b == 2)`, []any{1, 2}, false},
		{"metatable", map[string]any{"a": 1}, `assert(getmetatable(v) == nil)`, map[string]any{"a": 1}, false},
		{"tostring", map[string]any{"a": 1}, `assert(tostring(v) == "table")`, map[string]any{"a": 1}, false},
		{"an empty list", map[string]any{"a": []any{}, "b": map[string]any{}}, `v.c = v.a.x v.d = 1 assert(getmetatable(v.a) == nil)`,
			map[string]any{"a": []any{}, "b": map[string]any{}, "d": int64(1)}, true},
		{"an emptied list", map[string]any{"a": []any{1}}, `table.remove(v.a)`, map[string]any{"a": []any{}}, true},
		{"null", map[string]any{"a": nil, "b": []any{nil, 1}}, `assert(v.a == nil and v.b[1] == json.null) v.b[2] = 2`,
			map[string]any{"a": nil, "b": []any{nil, int64(2)}}, true},
		{"null without a change", map[string]any{"a": nil, "b": []any{nil, 1}}, `assert(v.a == nil and v.b[1] == json.null)`, map[string]any{"a": nil, "b": []any{nil, 1}}, false},
		{"json.null", map[string]any{}, `v.a = {json.null}`, map[string]any{"a": []any{nil}}, true},
		{"other types", map[string]any{"a": named{"b": json.Number("1.50")}, "c": []string{"x"}, "d": uint8(1)}, `assert(v.a.b == 1.5 and v.c[1] == "x") v.d = 2`,
			map[string]any{"a": named{"b": json.Number("1.50")}, "c": []string{"x"}, "d": int64(2)}, true},
		{"moved", map[string]any{"a": map[string]any{"x": 1}, "b": map[string]any{"x": 2}}, `v.a, v.b = v.b, v.a`, map[string]any{"a": map[string]any{"x": 2}, "b": map[string]any{"x": 1}}, true},
		{"shared", map[string]any{"a": shared, "b": shared}, `v.a.a = 2`, map[string]any{"a": map[string]any{"a": int64(2)}, "b": shared}, true},
		{"encoded", map[string]any{"a": []any{}, "b": []any{1}}, `assert(json.encode(v) == '{"a":[],"b":[1]}', json.encode(v))`, map[string]any{"a": []any{}, "b": []any{1}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := fmt.Sprint(tt.value)
			state := newState(t, luasandbox.Options{})
			handler := loadHandler(t, state, "function(v) "+tt.script+" end")
			value, err := state.NewValue(tt.value)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := state.Call(t.Context(), handler, value); err != nil {
				t.Fatal(err)
			}
			got, changed, err := value.Go(t.Context())
			if err != nil || !reflect.DeepEqual(got, tt.want) || changed != tt.changed {
				t.Errorf("got %v, %v and %#v, want %#v", err, changed, got, tt.want)
			}
			if after := fmt.Sprint(tt.value); after != before {
				t.Errorf("the original has changed to %s", after)
			}
		})
	}
}

func TestInvalidValues(t *testing.T) {
	tests := []struct{ name, script, want string }{
		{"list with other keys", `v.a = {1, x = 2}`, `it has 1 list items and the key "x"`},
		{"list with holes", `v.a = {1, nil, 3}`, `it has 1 list items and the key 3`},
		{"keys that are no strings", `v.a = {[true] = 1}`, `it has the key true`},
		{"circle", `v.a = v`, "or a table contains itself"},
		{"userdata", `v.a = setmetatable({}, {})  v.b = {{{function() end}}} v.c = 0/0 v.a = log`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			state := newState(t, luasandbox.Options{})
			handler := loadHandler(t, state, "function(v) "+tt.script+" end")
			value, err := state.NewValue(map[string]any{"x": 1})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := state.Call(t.Context(), handler, value); err != nil {
				t.Fatal(err)
			}
			_, _, err = value.Go(t.Context())
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v", err)
			}
		})
	}
	if _, err := newState(t, luasandbox.Options{}).NewValue(struct{}{}); err == nil {
		t.Error("a struct was converted")
	}
}

func TestElements(t *testing.T) {
	document := func(kind string) map[string]any {
		return map[string]any{"kind": kind, "metadata": map[string]any{"name": "x"}}
	}
	tests := []struct {
		name, script string
		// want contains the original index of each element, and + if it is changed.
		want string
	}{
		{"nothing", ``, "0 1 2"},
		{"reading", `for _, doc in ipairs(m) do assert(doc.metadata.name == "x") end`, "0 1 2"},
		{"a change", `m[2].metadata.labels = {a = "b"}`, "0 1+ 2"},
		{"removed", `table.remove(m, 2)`, "0 2"},
		{"added", `table.insert(m, 1, {kind = "D"})`, "-1+ 0 1 2"},
		{"moved", `m[1], m[3] = m[3], m[1]`, "2 1 0"},
		{"twice", `m[2] = m[1]`, "0 -1+ 2"},
		{"replaced", `m[1] = {kind = m[1].kind}`, "-1+ 1 2"},
		{"all removed", `for i = #m, 1, -1 do table.remove(m, i) end`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			documents := []any{document("A"), document("B"), document("C")}
			state := newState(t, luasandbox.Options{})
			handler := loadHandler(t, state, "function(m) "+tt.script+" end")
			manifest, err := state.NewValue(documents)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := state.Call(t.Context(), handler, manifest); err != nil {
				t.Fatal(err)
			}
			elements, err := manifest.Elements(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range elements {
				text := fmt.Sprint(e.Index)
				if e.Changed {
					text += "+"
				}
				if e.Index >= 0 && !e.Changed && reflect.ValueOf(e.Go).Pointer() != reflect.ValueOf(documents[e.Index]).Pointer() {
					t.Errorf("element %d is not the original", e.Index)
				}
				got = append(got, text)
			}
			if joined := strings.Join(got, " "); joined != tt.want {
				t.Errorf("got %s, want %s", joined, tt.want)
			}
		})
	}
}

func TestGoFunctions(t *testing.T) {
	cause := errors.New("it is forbidden")
	state := newState(t, luasandbox.Options{})
	var received []any
	functions := map[string]luasandbox.GoFunction{
		"echo": func(_ context.Context, arguments []any) ([]any, error) {
			received = arguments
			return arguments, nil
		},
		"fail": func(context.Context, []any) ([]any, error) { return nil, cause },
	}
	if err := state.Register("go", functions); err != nil {
		t.Fatal(err)
	}
	handler := loadHandler(t, state, `function(...)
		local a, b = go.echo(..., {1, 2}, nil)
		assert(b[2] == 2)
		assert(not pcall(go.fail))
		return a, "x", {y = 1}
	end`)
	if file, line := handler.Position(); file != "handler.lua" || line != 1 {
		t.Errorf("the position is %s:%d", file, line)
	}
	results, err := state.Call(t.Context(), handler, 1.5)
	if want := []any{1.5, "x", map[string]any{"y": int64(1)}}; err != nil || !reflect.DeepEqual(results, want) {
		t.Errorf("got %v, %v", results, err)
	}
	if want := []any{1.5, []any{int64(1), int64(2)}, nil}; !reflect.DeepEqual(received, want) {
		t.Errorf("received %v", received)
	}
	err = state.Load(t.Context(), "fail.lua", "\ngo.fail()")
	if problem := (*luasandbox.Error)(nil); !errors.Is(err, cause) || !errors.As(err, &problem) || problem.Line != 2 || problem.Message != "it is forbidden" {
		t.Errorf("got %v", err)
	}
	other := newState(t, luasandbox.Options{})
	if _, err := other.Call(t.Context(), handler); err == nil {
		t.Error("a function of another state was called")
	}
	reenter := map[string]luasandbox.GoFunction{"reenter": func(ctx context.Context, _ []any) ([]any, error) {
		return state.Call(ctx, handler)
	}}
	if err := state.Register("go", reenter); err != nil {
		t.Fatal(err)
	}
	if err := state.Load(t.Context(), "a.lua", "go.reenter()"); err == nil || !strings.Contains(err.Error(), "already in use") {
		t.Errorf("got %v", err)
	}
}

// manifest returns documents such as a large chart renders.
func manifest(count int) []any {
	documents := make([]any, count)
	for i := range documents {
		labels := map[string]any{"app.kubernetes.io/name": "web", "app.kubernetes.io/instance": fmt.Sprint(i)}
		container := map[string]any{"name": "web", "image": "nginx", "env": []any{map[string]any{"name": "A", "value": "b"}}}
		documents[i] = map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment",
			"metadata": map[string]any{"name": fmt.Sprint("web-", i), "labels": labels},
			"spec": map[string]any{"replicas": 1, "selector": map[string]any{"matchLabels": labels}, "template": map[string]any{
				"metadata": map[string]any{"labels": labels}, "spec": map[string]any{"containers": []any{container}},
			}},
		}
	}
	return documents
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		luasandbox.New(luasandbox.Options{}).Close()
	}
}

func BenchmarkDocuments(b *testing.B) {
	scripts := map[string]string{
		"untouched": ``,
		"read":      `for _, doc in ipairs(m) do if doc.kind == "Service" then error("x") end end`,
		"changed":   `for _, doc in ipairs(m) do doc.metadata.labels.team = "none" end`,
		"walked":    `local function walk(v) if type(v) == "table" then for _, x in pairs(v) do walk(x) end end end walk(m)`,
	}
	documents := manifest(5000)
	for _, name := range []string{"untouched", "read", "changed", "walked"} {
		b.Run(name, func(b *testing.B) {
			state := newState(b, luasandbox.Options{})
			handler := loadHandler(b, state, "function(m) "+scripts[name]+" end")
			for b.Loop() {
				value, err := state.NewValue(documents)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := state.Call(b.Context(), handler, value); err != nil {
					b.Fatal(err)
				}
				if _, err := value.Elements(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkInstructions(b *testing.B) {
	state := newState(b, luasandbox.Options{})
	handler := loadHandler(b, state, `function() local n, t = 0, {} for i = 1, 1e5 do n = n + i % 7 t[i % 100] = "a" .. i end return n end`)
	for b.Loop() {
		if _, err := state.Call(b.Context(), handler); err != nil {
			b.Fatal(err)
		}
	}
}
