// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	page, err := Parse(strings.Join([]string{
		"# A page", "",
		"```yaml", "# shop/Chart.yaml", "name: shop", "```", "",
		"```yaml", "name: shop", "```",
		"```console",
		"$ helm dag ./shop", "shop: 1 resource", "...",
		"$ helm plan shop ./shop \\", "    --install", "$ echo $?", "2",
		"```",
		"<!-- not run: it needs Argo CD -->", "",
		"```console", "$ argocd app sync shop", "```",
		"```text", "a --> b", "```",
		"```go", "x := 1", "```",
	}, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := &Page{
		Steps: []Step{
			{Line: 4, File: "shop/Chart.yaml", Content: "# shop/Chart.yaml\nname: shop\n"},
			{Line: 12, Command: "helm dag ./shop", Output: []string{"shop: 1 resource", "..."}},
			{Line: 15, Command: "helm plan shop ./shop \\\n    --install", Code: 2},
		},
		Parts:  []Part{{9, "yaml", "name: shop\n"}, {29, "go", "x := 1\n"}},
		NotRun: []string{"it needs Argo CD"},
	}
	if !reflect.DeepEqual(page, want) {
		t.Errorf("got  %+v\nwant %+v", page, want)
	}
}

func TestParseErrors(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"a block without an end":         {"\n```console\n$ ls", "3: the block does not end"},
		"an empty block":                 {"```yaml\n```", "2: an empty block"},
		"an unknown language":            {"```sh\nls\n```", `2: a block of the language "sh"`},
		"no language":                    {"```\nls\n```", `2: a block of the language ""`},
		"an indented block":              {"- so:\n  ```console\n  $ ls\n  ```", "2: the block is indented"},
		"output before a command":        {"```console\nhello\n$ ls\n```", `2: there is no command before "hello"`},
		"what a shell would keep":        {"```console\n$ cd shop\n```", `2: "cd shop" has no effect`},
		"a marker without a reason":      {"<!-- not run: -->\n```console\n$ ls\n```", "1: there is no reason"},
		"a marker without a block":       {"<!-- not run: so -->\n\ntext\n```console\n$ ls\n```", "1: no block follows"},
		"a marker at the end":            {"text\n<!-- not run: so -->\n", "2: no block follows"},
		"an exit code of nothing":        {"```console\n$ echo $?\n1\n```", "2: echo $? comes after a command"},
		"an exit code that is no number": {"```console\n$ ls\n$ echo $?\none\n```", `3: "one" is no exit code`},
		"an exit code that is not there": {"```console\n$ ls\n$ echo $?\n```", "3: echo $? comes after a command"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse(tt.text); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestContains(t *testing.T) {
	const file = "a:\n  b: 1\n\n  c: 2\nd: 3\n"
	for part, want := range map[string]bool{
		"b: 1\nc: 2\n": true, "    c: 2\nd: 3": true, "c: 2\nb: 1": false, "b: 1\nd: 3": false, "b: 11": false, ": 1": false,
	} {
		if got := Contains(file, part); got != want {
			t.Errorf("%q: %v", part, got)
		}
	}
}

func TestMatch(t *testing.T) {
	for name, tt := range map[string]struct {
		want, output string
		ok           bool
	}{
		"the same":                       {"a\nb", "a\nb\n", true},
		"another line":                   {"a\nb", "a\nc\n", false},
		"a line too many":                {"a", "a\nb\n", false},
		"a line too few":                 {"a\nb", "a\n", false},
		"more in the line":               {"a", "ab\n", false},
		"any lines":                      {"a\n...\nd", "a\nb\nc\nd\n", true},
		"any lines are none, too":        {"a\n...\nb", "a\nb\n", true},
		"any lines at the end":           {"a\n...", "a\nb\nc\n", true},
		"any lines at the beginning":     {"...\nc", "a\nb\nc\n", true},
		"any lines, but not those":       {"a\n...\nd", "a\nb\nc\n", false},
		"any text":                       {"release ... is gone", "release shop is gone\n", true},
		"any text between columns":       {"a  ...  c", "a\tb \t  c\n", true},
		"any text in one line only":      {"release ... is gone", "release shop\nb is gone\n", false},
		"characters that mean something": {"a (b) [c] *", "a (b) [c] *\n", true},
		"blanks between columns":         {"NAME REVISION", "NAME \tREVISION  \n", true},
		"blanks at the beginning":        {"  a", "a\n", false},
		"measured seconds":               {"    0.4s  shop ready", "   12.0s  shop ready\n", true},
		"seconds that were asked for":    {"within 10s", "within 30s\n", false},
		"a date":                         {"LAST DEPLOYED: Mon Jan  5 10:11:12 2026", "LAST DEPLOYED: Sun Nov 22 11:02:36 2026\n", true},
		"a pod":                          {"Pod default/web-6cbfd5556f-dk27z container", "Pod default/web-74f8b9c7d-x2x4b container\n", true},
		"a pod of another workload":      {"Pod default/api-6cbfd5556f-dk27z container", "Pod default/web-74f8b9c7d-x2x4b container\n", false},
		"a pod of a Job":                 {"Pod default/migrate-dk27z: Failed", "Pod default/migrate-x2x4b: Failed\n", true},
		"how often":                      {"restarted 3 times", "restarted once\n", true},
		"what is not ready yet":          {"    0.1s  shop:web started", "    0.1s  shop:web started\n    1.1s  shop:web Pod/a: InProgress: pending\n    1.2s  shop:web Pod/a: Ready\n", true},
		"what has failed":                {"    0.1s  shop:web started", "    0.1s  shop:web started\n    1.1s  shop:web failed: Pod/a failed\n", false},
		"nothing":                        {"a", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := Match(strings.Split(tt.want, "\n"), tt.output); (err == nil) != tt.ok {
				t.Errorf("%v", err)
			}
		})
	}
}
