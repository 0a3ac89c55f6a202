// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

func parsed(tb testing.TB, texts ...string) []ReadinessExpression {
	tb.Helper()
	var list []ReadinessExpression
	for _, text := range texts {
		e, err := ParseExpression(text)
		if err != nil {
			tb.Fatalf("%s: %v", text, err)
		}
		list = append(list, e)
	}
	return list
}

// statusOf decodes a status in the same way as a client.
func statusOf(tb testing.TB, text string) map[string]any {
	tb.Helper()
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	var status map[string]any
	if err := json.Unmarshal(asJSON, &status); err != nil {
		tb.Fatal(err)
	}
	return status
}

const status = `
succeeded: 1
failed: 0
ratio: 0.1
big: 9007199254740993
negative: -3
ready: true
phase: Running
version: "1.10"
count: "5"
empty: ""
nothing: null
message: all is well
conditions:
- {type: Ready, status: "True", reason: Fine}
- {type: Stalled, status: "False"}
nodes:
- {name: a, disks: [{size: 1}, {size: 7}]}
- {name: b, disks: [{size: 3}]}
endpoints: {primary: {ready: true}, replica: {ready: false}}
list: [1, 2]
dotted: {example.com/state: up}
`

func TestExpressionHolds(t *testing.T) {
	for name, cases := range map[string]map[string]bool{
		"the spelling of the proposal": {`succeeded==1`: true, `failed==1`: false},
		"braces or bare": {
			`{.succeeded} == 1`: true, `.succeeded == 1`: true, `{succeeded} == 1`: true, `{$.succeeded} == 1`: true,
			`  succeeded  ==  1  `: true, `{ .succeeded } == 1`: true,
		},
		"numbers": {
			`succeeded >= 1`: true, `succeeded > 1`: false, `succeeded < 2`: true, `succeeded <= 0`: false, `succeeded != 1`: false,
			`succeeded == 1.0`: true, `succeeded == "1"`: true, `negative < -2`: true, `failed == 0`: true, `failed == -0`: true,
		},
		"fractions": {`ratio == 0.1`: true, `ratio < 0.2`: true, `ratio >= 1e-1`: true, `succeeded > 0.5`: true},
		"large numbers": {
			`big == 9007199254740993`: true, `big == 9007199254740992`: false, `big < 1e400`: false, `big > -1e300`: true,
		},
		"numbers against what is none": {`succeeded == one`: false, `succeeded != one`: true, `succeeded < one`: false, `succeeded == NaN`: false, `succeeded < Inf`: false},
		"strings, quoted or bare": {
			`phase == Running`: true, `phase == "Running"`: true, `phase == 'Running'`: true, `phase == running`: false,
			`phase != Pending`: true, `message == all is well`: true, `message == "all is well"`: true, `empty == ""`: true, `empty != ''`: false,
		},
		"strings that look like numbers":        {`count == 5`: true, `version == 1.10`: true, `version == 1.1`: false},
		"an order between what are not numbers": {`phase < Zzz`: false, `count > 4`: false, `count <= 5`: false, `ready >= true`: false},
		"booleans":                              {`ready == true`: true, `ready == True`: true, `ready != false`: true, `ready == 1`: false, `ready == yes`: false},
		"filters": {
			`{.conditions[?(@.type=="Ready")].status} == "True"`: true, `{.conditions[?(@.type=="Ready")].status} == True`: true,
			`conditions[?(@.type=='Ready')].status == True`: true, `{.conditions[?(@.type=="Ready")].status} == true`: false,
			`{.conditions[?(@.type=="Stalled")].status} == "True"`: false, `{.conditions[?(@.type=="Gone")].status} == "True"`: false,
			`{.conditions[?(@.reason=="Fine")].type} == Ready`: true, `{.nodes[?(@.disks[0].size>2)].name} == b`: true,
		},
		"several results: any of them": {
			`{.nodes[*].name} == b`: true, `{.nodes[*].name} == c`: false, `{.nodes[*].name} != a`: true,
			`{.nodes[*].disks[*].size} > 6`: true, `{.nodes[*].disks[*].size} > 7`: false, `{.endpoints.*.ready} == false`: true,
			`{..size} == 3`: true, `{.list[*]} == 2`: true, `{.nodes[0:2].name} == b`: true, `{.nodes[-1:].name} == b`: true,
		},
		"a path that is not there yet": {
			`missing == 1`: false, `missing != 1`: false, `missing.deeper != x`: false, `missing < 1`: false, `missing == ""`: false,
			`{.conditions[?(@.type=="Gone")].status} != "True"`: false, `{.list[7]} != 0`: false, `{.phase.deeper} != x`: false,
			`{.missing[*].name} != x`: false, `{.missing[?(@.a=="b")].c} != x`: false,
		},
		"null is as if it were not there": {`nothing == null`: false, `nothing != null`: false, `nothing == ""`: false},
		"maps and lists":                  {`list == 1`: false, `list != 1`: false, `endpoints != x`: false, `{.nodes[0]} != x`: false},
		"keys with dots":                  {`{.dotted.example\.com/state} == up`: true, `{.dotted['example\.com/state']} == up`: true},
		"operators inside the path":       {`{.nodes[?(@.name!="a")].name} != a`: true, `{.nodes[?(@.disks[0].size<=1)].name} == a`: true},
	} {
		t.Run(name, func(t *testing.T) {
			for text, want := range cases {
				if got := parsed(t, text)[0].Holds(statusOf(t, status)); got != want {
					t.Errorf("%s: got %v, want %v", text, got, want)
				}
			}
		})
	}
	for _, none := range []any{nil, map[string]any(nil), map[string]any{}, "word", int64(1), []any{}} {
		for _, e := range parsed(t, `{.a} != 1`, `{.a[*]} != 1`, `{.*.a} != 1`, `{[*].a} != 1`, `{[*]} == 2`, `{..a} != 1`) {
			if e.Holds(none) || e.ActualValues(none) != "" {
				t.Errorf("%s holds of the status %v, where it finds %s", e, none, e.ActualValues(none))
			}
		}
	}
}

func TestFound(t *testing.T) {
	for text, want := range map[string]string{
		`phase == x`: `"Running"`, `succeeded == 2`: `1`, `missing == 1`: "", `nothing == 1`: "", `{.nodes[*].name} == c`: `"a", "b"`,
		`{.nodes[*].disks[*].size} == 9`: `1, 7, 3`, `list == 1`: `[1,2]`, `{..size} == 9`: `1, 7, 3`, `{.list[7]} == 1`: "",
		`{.nothing[*]} == 1`: "", `{.nothing.*} == 1`: "", `{[*].nothing[*]} == 1`: "",
	} {
		if got := parsed(t, text)[0].ActualValues(statusOf(t, status)); got != want {
			t.Errorf("%s: found %s, want %s", text, got, want)
		}
	}
}

func TestBadExpressions(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"no operator", `{.succeeded}`, "missing operator"},
		{"two comparisons", `readyReplicas == 1 && succeeded == 1`, "&& is not supported"},
		{"either of two", `{.phase} == Done || {.phase} == Ready`, "|| is not supported"},
		{"no operator, with a value", `succeeded 1`, "missing operator"},
		{"nothing", ``, "missing operator"},
		{"unknown operator", `succeeded = 1`, `invalid operator "="`},
		{"unknown operator of three", `succeeded === 1`, `invalid operator "==="`},
		{"unknown operator for patterns", `phase =~ Run.*`, `invalid operator "=~"`},
		{"turned round", `succeeded => 1`, `invalid operator "=>"`},
		{"brace that is not closed", `{.succeeded == 1`, `'{' is not closed`},
		{"brace that closes nothing", `.succeeded} == 1`, `unexpected '}'`},
		{"brackets crossed", `{.conditions[0}] == 1`, `unexpected '}'`},
		{"quote that is not closed", `{.conditions[?(@.type=="Ready)].status} == True`, "missing closing quote"},
		{"JSONPath that does not parse", `{.conditions[?(@.type=)].status} == True`, "is not a JSONPath"},
		{"JSONPath with an index that is none", `{.conditions[x]} == 1`, "is not a JSONPath"},
		{"two paths", `{.a}{.b} == 1`, "more than one path"},
		{"text after the path", `{.a}b == 1`, "unexpected text after the closing brace"},
		{"no path", `== 1`, "missing path"},
		{"empty path", `{} == 1`, "is not a JSONPath"},
		{"no value", `succeeded ==`, "missing value"},
		{"value after the value", `phase == "a" "b"`, "unexpected text after the closing quote"},
		{"value that is not closed", `phase == "a`, "unexpected text after the closing quote"},
		{"two operators", `succeeded == == 1`, "begins with an operator"},
		{"filter without a value", `{.conditions[?(@.type==)].status} == True`, "is not a JSONPath"},
		{"filter with an unknown operator", `{.conditions[?(@.type=~"R")].status} == True`, "is not a JSONPath"},
		{"a text for a path", `{"a"} == a`, "is not a JSONPath"},
		{"the whole status", `{.} == 1`, "invalid field name"},
		{"loop in brackets", `{.a[range .b]} == 1`, "is not a JSONPath"},
		{"words", `the phase is == Done`, "is not a JSONPath"},
		{"loop", `{range .conditions[*]} == 1`, "is not a JSONPath"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseExpression(c.text)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: got %v, want %q", c.text, err, c.want)
			}
			_, err = ReadResourceSequencing(map[string]any{ReadinessSuccess: []any{"a == 1", c.text}})
			var value *ValueError
			if c.text != "" && (!errors.As(err, &value) || value.Key != ReadinessSuccess || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("the error of the annotation is %v", err)
			}
		})
	}
}

func TestPathBeginsWithStatus(t *testing.T) {
	for text, want := range map[string]bool{
		`{.status.phase} == Done`: true, `.status.phase == Done`: true, `status.phase == Done`: true, `{$.status['phase']} == Done`: true,
		`{.statuses.phase} == Done`: false, `{.status} == Done`: false, `{.phase.status.x} == Done`: false, `{.phase} == status`: false,
	} {
		if got := parsed(t, text)[0].PathBeginsWithStatus(); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

// FuzzExpression checks that every accepted expression can be evaluated on any status, that
// String returns the original text, and that an expression is true only if the path has a
// value.
func FuzzExpression(f *testing.F) {
	for _, text := range []string{
		`succeeded==1`, `{.conditions[?(@.type=="Ready")].status} != "True"`, `{.nodes[*].disks[-1:].size} <= 1.5`, `{..a}<b`,
		`{.a['b','c']} >= 'x'`, `{range .a[*]}{.b}{end} == 1`, `{.a[0:4:2]} > -1`, `{"x"} == x`, `{1} == 1`, `{@} == 1`, `{.list[9223372036854775807]} == 1`,
		`{[*]} == 1`, `{.nothing[*]} == 1`, `{[0:2]} != ''`, `{[?(@.a=="b")]} == 1`,
	} {
		f.Add(text)
	}
	all := statusOf(f, status)
	f.Fuzz(func(t *testing.T, text string) {
		e, err := ParseExpression(text)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error that says nothing")
			}
			return
		}
		if e.String() != strings.TrimSpace(text) {
			t.Fatalf("%q became %q", text, e)
		}
		if again := parsed(t, e.String())[0]; again != e {
			t.Fatalf("%q reads differently the second time: %+v, %+v", text, e, again)
		}
		if first := e.Holds(all); first != e.Holds(all) {
			t.Fatalf("%q is true and false of one status", text)
		}
		for _, status := range []any{nil, map[string]any(nil), map[string]any{}, "word", int64(1), []any{int64(1), nil, "word"}, all} {
			if e.Holds(status) && e.ActualValues(status) == "" {
				t.Fatalf("%q holds of %v, where it finds nothing", text, status)
			}
		}
	})
}
