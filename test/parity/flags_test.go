// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"bufio"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/binaries"
)

// helpFlag matches a flag in a help text: shorthand, name, type, and its
// default where the line ends with one.
var helpFlag = regexp.MustCompile(`^ +(?:-(\w), )?--([\w-]+)(?: (\S+))? {2,}.*?(\(default [^():]*\))?$`)

// flagOf is what a help text says of a flag, apart from its description.
type flagOf struct{ shorthand, kind, value string }

// TestFlags compares the flags of every command: their names, shorthands, types
// and defaults.
func TestFlags(t *testing.T) {
	programs := binaries.Get(t)
	// What the commands have beside stock's flags, or instead of them.
	const wait, readiness = "wait", "readiness-timeout"
	orderly := map[string]flagOf{wait: {kind: "true|false|ordered[=true]"}, readiness: {kind: "duration"}}
	tests := []struct {
		command string
		differs map[string]flagOf
	}{
		{command: ""},
		{command: "get"},
		{command: "get all"},
		{command: "get hooks"},
		{command: "get manifest"},
		{command: "get metadata"},
		{command: "get notes"},
		{command: "get values"},
		{command: "history"},
		{command: "install", differs: orderly},
		{command: "list"},
		{command: "rollback", differs: orderly},
		{command: "status"},
		{command: "template", differs: orderly},
		{command: "test"},
		{command: "uninstall", differs: orderly},
		{command: "upgrade", differs: orderly},
		{command: "version"},
	}
	for _, tt := range tests {
		t.Run("helm "+tt.command, func(t *testing.T) {
			want := flagsOf(t, programs.Stock, tt.command)
			maps.Copy(want, tt.differs)
			got := flagsOf(t, programs.Helm, tt.command)
			for _, name := range slices.Sorted(maps.Keys(want)) {
				if flag, ok := got[name]; !ok || flag != want[name] {
					t.Errorf("--%s is %+v, want %+v", name, flag, want[name])
				}
				delete(got, name)
			}
			for _, name := range slices.Sorted(maps.Keys(got)) {
				t.Errorf("--%s is not a flag of stock's", name)
			}
		})
	}
}

// TestUsageLines compares the usage line and the aliases of every command.
func TestUsageLines(t *testing.T) {
	programs := binaries.Get(t)
	usage := regexp.MustCompile(`(?s)\nUsage:\n.*?\n\n(?:Aliases:\n.*?\n\n)?`)
	for _, command := range []string{"get", "get all", "get hooks", "get manifest", "get metadata", "get notes", "get values",
		"history", "install", "list", "rollback", "status", "template", "test", "uninstall", "upgrade", "version"} {
		t.Run(command, func(t *testing.T) {
			stock, ours := usage.FindString(help(t, programs.Stock, command)), usage.FindString(help(t, programs.Helm, command))
			if d := diff(stock, ours); d != "" || stock == "" {
				t.Errorf("stock (-) and ours (+) differ:\n%s", d)
			}
		})
	}
}

func flagsOf(t *testing.T, program, command string) map[string]flagOf {
	t.Helper()
	flags := make(map[string]flagOf)
	lines := bufio.NewScanner(strings.NewReader(help(t, program, command)))
	for lines.Scan() {
		if match := helpFlag.FindStringSubmatch(lines.Text()); match != nil {
			flags[match[2]] = flagOf{shorthand: match[1], kind: match[3], value: match[4]}
		}
	}
	if len(flags) == 0 {
		t.Fatalf("no flags in the help of %q", command)
	}
	return flags
}

func help(t *testing.T, program, command string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, append(strings.Fields(command), "--help")...)
	cmd.Env = []string{"HOME=/home"}
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
