// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package scripthandlers_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/lifecycle"
	"github.com/ordered-helm/helm/internal/luasandbox"
	"github.com/ordered-helm/helm/internal/scripthandlers"
)

// handlers returns a script that registers several handlers, each within the limits of a call. The
// variable n has a different value in each of them.
func handlers(count int, event, body string) string {
	return fmt.Sprintf("for n = 1, %d do\nevents.on(%q, 0.5, function(name, namespace, chart, values, manifest) %s end)\nend", count, event, body)
}

// TestLimitsOfOperation checks that the limits for all scripts of an operation apply to several handlers
// together, and only to what they add.
func TestLimitsOfOperation(t *testing.T) {
	many := `for i = 1, 20000 do values["k" .. n .. "." .. i] = 1 end`
	for _, c := range []struct {
		name, event, script, want string
	}{
		{"output of one handler", "pre-render", handlers(1, "pre-render", "for i = 1, 1000 do println(i) end"), ""},
		{"output", "pre-render", handlers(40, "pre-render", "for i = 1, 1000 do println(i) end"), "the script writes too much output: the scripts of all charts have written more than"},
		{"output in a pcall", "pre-render", handlers(40, "pre-render", "for i = 1, 1000 do pcall(println, i) end"), "the script writes too much output"},
		{"output to the log", "pre-render", handlers(40, "pre-render", "for i = 1, 1000 do log(i) end"), "the script writes too much output"},
		{"output of polls", "wait", handlers(40, "wait", "for i = 1, 1000 do log(i) end return true"), "the script writes too much output"},
		{"values", "pre-render", handlers(2, "pre-render", many), ""},
		{"too many values", "pre-render", handlers(3, "pre-render", many), "the handler of pre-render has added too much to the values"},
		{"too many items", "pre-render", handlers(1, "pre-render", "values.a = {} for i = 1, 50001 do values.a[i] = i end"), "added too much to the values"},
		{"values that replace each other", "pre-render", handlers(3, "pre-render", "values.a = {} for i = 1, 20000 do values.a[i] = n end"), ""},
		{"text", "pre-render", handlers(4, "pre-render", `values["k" .. n] = ("x"):rep(1e6)`), ""},
		{"too much text", "pre-render", handlers(5, "pre-render", `values["k" .. n] = ("x"):rep(1e6)`), "added too much to the values"},
		{"too many control characters", "pre-render", handlers(1, "pre-render", `values.k = ("\1"):rep(1e6)`), "added too much to the values"},
		{"too many documents", "post-render", handlers(20, "post-render", `for i = 1, 1000 do table.insert(manifest, {kind = "A", metadata = {name = n .. "." .. i}}) end`), "the handler of post-render has added too much to the manifest"},
		{"too large documents", "post-render", handlers(5, "post-render", `manifest[1]["k" .. n] = ("x"):rep(1e6)`), "added too much to the manifest"},
		{"documents that are replaced", "post-render", handlers(5, "post-render", `manifest[1] = {kind = "A", metadata = {name = "a"}, text = ("x"):rep(1e6)}`), ""},
		{"documents that are changed again", "post-render", handlers(200, "post-render", `for _, d in ipairs(manifest) do d.metadata.labels = {n = ("x"):rep(1e5)} end`), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			// The limit is for the scripts of all charts.
			r, _ := start(t, newTree(c.script, handle("ready", "")), scripthandlers.Options{Log: func(string) {}})
			var err error
			if c.event == "wait" {
				_, err = lifecycle.Poll(t.Context(), r.Emitter(), "", request())
			} else {
				err = lifecycle.Emit(t.Context(), r.Emitter(), lifecycle.Event(c.event), request())
			}
			failed, is := errors.AsType[*scripthandlers.ScriptError](err)
			if c.want == "" && err != nil || c.want != "" && (!is || !strings.Contains(err.Error(), c.want)) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if c.want != "" && (failed.Err.File != "ext/lua/shop.lua" || failed.Err.Line != 2) {
				t.Errorf("the error is at %s:%d", failed.Err.File, failed.Err.Line)
			}
			if strings.Contains(c.want, "output") && !errors.Is(err, luasandbox.ErrOutputLimit) {
				t.Errorf("the cause of %v is not ErrOutputLimit", err)
			}
		})
	}
}
