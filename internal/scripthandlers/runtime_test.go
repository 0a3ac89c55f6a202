// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package scripthandlers_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/ordered-helm/helm/internal/chartscripts"
	"github.com/ordered-helm/helm/internal/lifecycle"
	"github.com/ordered-helm/helm/internal/luasandbox"
	"github.com/ordered-helm/helm/internal/scripthandlers"
)

// newChart returns a chart whose scripts are enabled.
func newChart(name string, scripts map[string]string, subcharts ...*chart.Chart) *chart.Chart {
	c := &chart.Chart{Metadata: &chart.Metadata{Name: name, Version: "1.2.3", Annotations: map[string]string{"helm.sh/scripts": "enabled"}}}
	for file, text := range scripts {
		c.Files = append(c.Files, &chart.File{Name: file, Data: []byte(text)})
	}
	c.AddDependency(subcharts...)
	return c
}

// newTree returns the chart shop with the subchart db, each with one script.
func newTree(shop, db string) *chart.Chart {
	return newChart("shop", map[string]string{"ext/lua/shop.lua": shop}, newChart("db", map[string]string{"ext/lua/db.lua": db}))
}

func read(t *testing.T, c *chart.Chart) []*chartscripts.Chart {
	t.Helper()
	charts, err := chartscripts.Read(c)
	if err != nil {
		t.Fatal(err)
	}
	return charts
}

// start starts the scripts of a chart, and returns the lines that they print.
func start(t *testing.T, c *chart.Chart, o scripthandlers.Options) (r *scripthandlers.Runtime, printed *[]string) {
	t.Helper()
	printed = &[]string{}
	o.Print = func(line string) { *printed = append(*printed, line) }
	r, err := scripthandlers.Start(t.Context(), read(t, c), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r, printed
}

// request returns a request with two documents of shop and one of db.
func request() *lifecycle.Request {
	document := func(source, name string) *lifecycle.Document {
		return lifecycle.NewDocument(source, fmt.Sprintf("# kept\nkind: A\nmetadata: {name:   %s}\n", name))
	}
	return &lifecycle.Request{
		Name: "rel", Namespace: "ns", Values: map[string]any{"a": 1.0, "global": map[string]any{"g": "x"}, "db": map[string]any{"size": 3.0, "global": map[string]any{"g": "x"}}},
		Manifest: &lifecycle.Manifest{Documents: []*lifecycle.Document{
			document("shop/templates/a.yaml", "one"), document("shop/charts/db/templates/b.yaml", "two"), document("shop/templates/a.yaml", "three"),
		}},
	}
}

func handle(event, body string) string {
	return fmt.Sprintf("events.on(%q, 0.5, function(name, namespace, chart, values, manifest)\n%s\nend)", event, body)
}

// short limits the time of scripts that never end.
var short = luasandbox.Limits{Time: 100 * time.Millisecond}

func TestMistakes(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{"syntax error", "x = = 1", `chart "shop": ext/lua/shop.lua:1: syntax error near '='`},
		{"error", "\nerror('boom')", `chart "shop": ext/lua/shop.lua:2: boom`},
		{"unknown event", "events.on('pre-instal', 0, function() end)", `ext/lua/shop.lua:1: there is no event "pre-instal": did you mean "pre-install"?`},
		{"event of Go programs", "events.on('pre-list', 0, function() end)", "scripts cannot handle pre-list: no chart belongs to it"},
		{"weight out of range", "events.on('wait', 1.5, function() end)", "the weight of a handler of wait is 1.5: must be a number from 0 to 1"},
		{"weight that is not a number", "events.on('wait', 0/0, function() end)", "the weight of a handler of wait is NaN"},
		{"weight that is text", "events.on('wait', '0.5', function() end)", "the second argument of events.on must be the weight, a number from 0 to 1"},
		{"no handler", "events.on('wait', 0.5, 'f')", "the third argument of events.on must be a function"},
		{"no event", "events.on(nil, 0.5, function() end)", "the first argument of events.on must be the name of an event"},
		{"too few arguments", "events.on('wait', 0.5)", "events.on needs 3 arguments, but has 2"},
		{"endless loop", "while true do end", "the script takes too long"},
		{"library that is not permitted", "http.get('http://localhost')", "ext/lua/shop.lua:1: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := scripthandlers.Start(t.Context(), read(t, newTree(c.script, "")), scripthandlers.Options{Limits: short})
			if failed, is := errors.AsType[*scripthandlers.ScriptError](err); !is || failed.Chart != "shop" || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestMistakesOfHandlers(t *testing.T) {
	for _, c := range []struct {
		name         string
		event        lifecycle.Event
		script, want string
	}{
		{"events.on in a handler", lifecycle.PreInstall, handle("pre-install", "events.on('wait', 0, function() end)"), "events.on can be called only while the scripts are loaded"},
		{"result", lifecycle.PostRender, handle("post-render", "return {}"), "the handler of post-render must return nothing: change the arguments in place"},
		{"wait without a result", lifecycle.Wait, handle("wait", ""), "the handler of wait must return true or false"},
		{"wait that returns text", lifecycle.Wait, handle("wait", "return 'yes'"), "the handler of wait must return true or false"},
		{"values that are a list", lifecycle.PreRender, handle("pre-render", "for k in pairs(values) do values[k] = nil end values[1] = 2"), "has changed the values to a list"},
		{"values with a cycle", lifecycle.PreRender, handle("pre-render", "values.a = values"), "has changed the values to something that is not YAML"},
		{"values with a function", lifecycle.PreRender, handle("pre-render", "values.a = {{function() end}}"), "has changed the values to something that is not YAML: a function is not allowed"},
		{"a document with a function", lifecycle.PostRender, handle("post-render", "manifest[1].a = println"), "has changed the manifest to something that is not YAML: a function is not allowed"},
		{"a document with NaN", lifecycle.PostRender, handle("post-render", "table.insert(manifest, {kind = 'A', metadata = {name = 'a'}, a = 0/0})"), "something that is not YAML: the number NaN is not allowed"},
		{"a document with an infinite number", lifecycle.PostRender, handle("post-render", "manifest[1].a = {1/0}"), "something that is not YAML: the number +Inf is not allowed"},
		{"a document that is a number", lifecycle.PostRender, handle("post-render", "manifest[2] = 7"), "has made element 2 of the manifest something that is not an object"},
		{"a manifest with a hole", lifecycle.PostRender, handle("post-render", "manifest[1] = nil"), "has changed the manifest to something that is not a list of documents"},
		{"too much output", lifecycle.PreInstall, handle("pre-install", "while true do println('x') end"), "stack traceback:\n    ext/lua/shop.lua:2: in function <ext/lua/shop.lua:1>\n"},
		{"error", lifecycle.PreInstall, handle("pre-install", "local x = nil x.y = 1"), "ext/lua/shop.lua:2: attempt to index"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, _ := start(t, newTree(c.script, ""), scripthandlers.Options{})
			var err error
			if c.event == lifecycle.Wait {
				_, err = lifecycle.Poll(t.Context(), r.Emitter(), "", request())
			} else {
				err = lifecycle.Emit(t.Context(), r.Emitter(), c.event, request())
			}
			if _, is := errors.AsType[*scripthandlers.ScriptError](err); !is || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// TestErrorText checks the text of an error with everything in it.
func TestErrorText(t *testing.T) {
	script := "local function check(x)\n  error('no ' .. x)\nend\n" + handle("pre-install", "log('a', 1)\nprintln('b')\ncheck('database')")
	r, _ := start(t, newTree("", script), scripthandlers.Options{})
	err := lifecycle.Emit(t.Context(), r.Emitter(), lifecycle.PreInstall, request())
	const want = `a handler of pre-install failed: chart "shop/charts/db": ext/lua/db.lua:2: no database
stack traceback:
    ext/lua/db.lua:2: in function 'check'
    ext/lua/db.lua:7: in function <ext/lua/db.lua:4>
output:
    a	1
    b`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

// TestArguments checks what handlers of the outermost chart and of a subchart see.
func TestArguments(t *testing.T) {
	show := `local names = {}
for i, d in ipairs(manifest or {}) do names[i] = d.metadata.name end
println(name, namespace, chart.path, chart.version, values.a, values.size, values.global.g, table.concat(names, ","))`
	for _, event := range lifecycle.Events() {
		if slices.Contains([]lifecycle.Event{lifecycle.ChartLoaded, lifecycle.PreList, lifecycle.PostList, lifecycle.Wait}, event) {
			continue
		}
		t.Run(string(event), func(t *testing.T) {
			script := handle(string(event), show)
			r, printed := start(t, newTree(script, script), scripthandlers.Options{})
			q := request()
			if event == lifecycle.PreRender {
				q.Manifest = nil
			}
			if err := lifecycle.Emit(t.Context(), r.Emitter(), event, q); err != nil {
				t.Fatal(err)
			}
			want := []string{"shop/charts/db: rel\tns\tshop/charts/db\t1.2.3\tnil\t3\tx\ttwo", "shop: rel\tns\tshop\t1.2.3\t1\tnil\tx\tone,two,three"}
			if event == lifecycle.PreRender {
				want = []string{"shop/charts/db: rel\tns\tshop/charts/db\t1.2.3\tnil\t3\tx\t", "shop: rel\tns\tshop\t1.2.3\t1\tnil\tx\t"}
			}
			if !slices.Equal(*printed, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(*printed, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// TestChangedValues checks that each chart changes its own values, and that nothing else changes.
func TestChangedValues(t *testing.T) {
	r, _ := start(t, newTree(
		handle("pre-render", "values.a = values.a + 1 values.global.g = 'shop' values.fromDB = values.db.size"),
		handle("pre-render", "values.size = values.size * 2 values.global.g = 'db'"),
	), scripthandlers.Options{})
	q, before := request(), request().Values
	original := q.Values
	if err := lifecycle.Emit(t.Context(), r.Emitter(), lifecycle.PreRender, q); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"a": int64(2), "fromDB": int64(6), "global": map[string]any{"g": "shop"},
		"db": map[string]any{"size": int64(6), "global": map[string]any{"g": "db"}},
	}
	if !reflect.DeepEqual(q.Values, want) {
		t.Errorf("got %v, want %v", q.Values, want)
	}
	if !reflect.DeepEqual(original, before) {
		t.Errorf("the original values are now %v", original)
	}
}

// TestChangedManifest checks that each chart changes only the documents of its subtree.
func TestChangedManifest(t *testing.T) {
	for _, c := range []struct {
		name, shop, db string
		want           []string // source, name and whether the document is the original
	}{
		{"nothing", handle("post-render", "return manifest[1].x"), "", []string{"a.yaml one true", "b.yaml two true", "a.yaml three true"}},
		{"changed", "", handle("post-render", "manifest[1].metadata.name = 'new'"), []string{"a.yaml one true", "b.yaml new false", "a.yaml three true"}},
		{"removed", "", handle("post-render", "table.remove(manifest)"), []string{"a.yaml one true", "a.yaml three true"}},
		{
			"added", "", handle("post-render", "table.insert(manifest, {kind = 'B', metadata = {name = 'new'}})"),
			[]string{"a.yaml one true", "b.yaml two true", "db.lua new false", "a.yaml three true"},
		},
		{"reversed", handle("post-render", "manifest[1], manifest[3] = manifest[3], manifest[1]"), "", []string{"a.yaml three true", "b.yaml two true", "a.yaml one true"}},
		{"both", handle("post-render", "manifest[2].metadata.name = manifest[2].metadata.name .. '!'"), handle("post-render", "manifest[1].metadata.name = 'new'"),
			[]string{"a.yaml one true", "b.yaml new! false", "a.yaml three true"}},
		{"all removed", handle("post-render", "for i = 1, 3 do table.remove(manifest) end"), "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, _ := start(t, newTree(c.shop, c.db), scripthandlers.Options{})
			q := request()
			original := slices.Clone(q.Manifest.Documents)
			if err := lifecycle.Emit(t.Context(), r.Emitter(), lifecycle.PostRender, q); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range q.Manifest.Documents {
				object, err := d.Object()
				if err != nil {
					t.Fatal(err)
				}
				metadata, _ := object["metadata"].(map[string]any)
				_, file, _ := strings.Cut(strings.Replace(d.Source, "ext/lua/", "templates/", 1), "templates/")
				got = append(got, fmt.Sprint(file, " ", metadata["name"], " ", slices.Contains(original, d) && !d.IsChanged()))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestOrderOfHandlers registers handlers of random weights in three charts and a Go program.
func TestOrderOfHandlers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // not for security
	for range 20 {
		var called []string
		var emitter lifecycle.Emitter
		type expected struct {
			weight, place int // place: the deepest chart first, and Go programs last
			label         string
		}
		var want []expected
		scripts := make([]string, 3)
		for i := range 12 {
			weight, place, label := random.IntN(3), random.IntN(4), fmt.Sprint("h", i)
			if place == 3 {
				err := emitter.On(lifecycle.Ready, float64(weight)/2, func(context.Context, *lifecycle.Request) error {
					called = append(called, label)
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
			} else {
				scripts[place] += fmt.Sprintf("events.on('ready', %d / 2, function() println('%s') end)\n", weight, label)
			}
			want = append(want, expected{weight, place, label})
		}
		slices.SortStableFunc(want, func(a, b expected) int {
			if a.weight != b.weight {
				return a.weight - b.weight
			}
			return a.place - b.place
		})
		file := func(i int) map[string]string { return map[string]string{"ext/lua/a.lua": scripts[i]} }
		tree := newChart("a", file(2), newChart("b", file(1), newChart("c", file(0))))
		r, err := scripthandlers.Start(t.Context(), read(t, tree), scripthandlers.Options{Emitter: &emitter, Print: func(line string) {
			called = append(called, line[strings.LastIndexByte(line, ' ')+1:])
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := lifecycle.Emit(t.Context(), r.Emitter(), lifecycle.Ready, request()); err != nil {
			t.Fatal(err)
		}
		r.Close()
		labels := make([]string, len(want))
		for i, w := range want {
			labels[i] = w.label
		}
		if !slices.Equal(called, labels) {
			t.Fatalf("called %v, want %v", called, labels)
		}
		if lifecycle.Has(&emitter, lifecycle.Ready) && len(lifecycle.WaitingCharts(&emitter)) > 0 {
			t.Error("the emitter of the program has handlers of charts")
		}
	}
}

// TestStates checks that charts share no variables, that scripts of one chart do, in the order of their
// names, and that the scripts of libraries and of charts without the annotation run as they should.
func TestStates(t *testing.T) {
	common := newChart("common", map[string]string{"ext/lua/a.lua": handle("post-render", "error('no')") + handle("ready", "println(shared)")})
	common.Metadata.Type = "library"
	disabled := newChart("disabled", map[string]string{"ext/lua/a.lua": "error('runs')"})
	disabled.Metadata.Annotations = nil
	shop := newChart("shop", map[string]string{"ext/lua/b.lua": handle("ready", "println(shared)"), "ext/lua/a.lua": "shared = 'of shop'", "ext/lua/lib/c.lua": "error('runs')"}, common, disabled)
	r, printed := start(t, shop, scripthandlers.Options{})
	for _, event := range []lifecycle.Event{lifecycle.PostRender, lifecycle.Ready} {
		if err := lifecycle.Emit(t.Context(), r.Emitter(), event, request()); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"shop/charts/common: nil", "shop: of shop"}; !slices.Equal(*printed, want) {
		t.Errorf("got %q, want %q", *printed, want)
	}
}

// TestWithoutScripts checks that charts without scripts have the handlers of the program alone, and are stored
// as they are.
func TestWithoutScripts(t *testing.T) {
	c := newChart("shop", nil)
	if r, _ := start(t, c, scripthandlers.Options{}); r.Emitter() != nil {
		t.Error("there are handlers")
	}
	var emitter lifecycle.Emitter
	isCalled := false
	if err := emitter.On(lifecycle.Ready, 0, func(context.Context, *lifecycle.Request) error { isCalled = true; return nil }); err != nil {
		t.Fatal(err)
	}
	r, _ := start(t, c, scripthandlers.Options{Emitter: &emitter})
	if err := lifecycle.Emit(t.Context(), r.Emitter(), lifecycle.Ready, &lifecycle.Request{}); err != nil || !isCalled || r.HasScripts() {
		t.Errorf("got %v, called: %v, scripts: %v", err, isCalled, r.HasScripts())
	}
	if stored, err := r.WithRecord(c); stored != c || err != nil {
		t.Errorf("the stored chart is %v, %v", stored, err)
	}
	var none *scripthandlers.Runtime
	none.Close()
	if none.Emitter() != nil {
		t.Error("the nil Runtime has handlers")
	}
}

// TestCancellation checks that a canceled operation ends a script at once, with the error of the context.
func TestCancellation(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	tree := newTree(handle("pre-install", "println('runs') while true do end"), "")
	r, err := scripthandlers.Start(t.Context(), read(t, tree), scripthandlers.Options{Print: func(string) { cancel() }})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := lifecycle.Emit(ctx, r.Emitter(), lifecycle.PreInstall, request()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestPermissions checks that scripts get exactly what is accepted for their chart.
func TestPermissions(t *testing.T) {
	tree := newTree("println(type(http), type(io), type(os))", "println(type(http), type(io), type(os))")
	tree.Files = append(tree.Files, &chart.File{Name: "ext/permissions.yaml", Data: []byte("lua: [network]")})
	var asked []string
	o := scripthandlers.Options{Acceptance: chartscripts.Acceptance{Ask: func(_ context.Context, r chartscripts.PermissionRequest) (bool, error) {
		asked = append(asked, r.String())
		return len(asked) == 1, nil
	}}}
	_, printed := start(t, tree, o)
	if want := []string{"shop/charts/db: nil\tnil\tnil", "shop: table\tnil\tnil"}; !slices.Equal(*printed, want) {
		t.Errorf("got %q, want %q", *printed, want)
	}
	_, err := scripthandlers.Start(t.Context(), read(t, tree), o)
	if refused, is := errors.AsType[*chartscripts.PermissionError](err); !is || !refused.Declined || refused.Chart != "shop" {
		t.Errorf("got %v", err)
	}
	if want := "Chart \"shop\" is requesting the following additional permissions:\n  - network: Access the network\n"; !slices.Equal(asked, []string{want, want}) {
		t.Errorf("asked %q", asked)
	}
}
