// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"bufio"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/binaries"
)

// command contains the information in the help text of a command.
type command struct {
	// path contains the words of the command, without "helm".
	path string
	// usage contains the usage line and the aliases.
	usage string
	// subcommands contains the names of its subcommands.
	subcommands []string
	// flags contains the flags of the command, global those of all commands.
	flags, global map[string]flagOf
}

// flagOf contains the information about a flag in a help text, without the description.
type flagOf struct{ shorthand, kind, value string }

var (
	// helpFlag matches a flag in a help text: shorthand, name, type, and the default if the
	// line ends with one.
	helpFlag = regexp.MustCompile(`^ +(?:-(\w), )?--([\w-]+)(?: (\S+))? {2,}.*?(\(default [^():]*\))?$`)
	// helpCommand matches a command in a list of commands.
	helpCommand = regexp.MustCompile(`^  (\S+) {2,}`)
	helpUsage   = regexp.MustCompile(`(?s)\nUsage:\n.*?\n\n(?:Aliases:\n.*?\n\n)?`)
)

// commandsOf returns the commands of a program, by path, from its help texts.
func commandsOf(t *testing.T, program string) map[string]command {
	t.Helper()
	found := make(map[string]command)
	for paths := []string{"", "docs"}; len(paths) > 0; paths = paths[1:] { // docs is hidden
		text, err := help(t.Context(), program, paths[0])
		if err != nil {
			t.Fatal(err)
		}
		c := readHelp(paths[0], text)
		found[c.path] = c
		for _, sub := range c.subcommands {
			paths = append(paths, strings.TrimSpace(c.path+" "+sub))
		}
	}
	return found
}

func help(ctx context.Context, program, path string) (string, error) {
	cmd := exec.CommandContext(ctx, program, append(strings.Fields(path), "--help")...)
	cmd.Env = []string{"HOME=/home"}
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s --help: %w", program, path, err)
	}
	return string(text), nil
}

func readHelp(path, text string) command {
	c := command{path: path, usage: helpUsage.FindString(text), flags: make(map[string]flagOf), global: make(map[string]flagOf)}
	section := ""
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		line := lines.Text()
		if strings.HasSuffix(line, ":") && !strings.HasPrefix(line, " ") {
			section = line
			continue
		}
		match := helpFlag.FindStringSubmatch(line)
		switch sub := helpCommand.FindStringSubmatch(line); {
		case section == "Available Commands:" && sub != nil && sub[1] != "help":
			c.subcommands = append(c.subcommands, sub[1])
		case section == "Flags:" && match != nil:
			c.flags[match[2]] = flagOf{shorthand: match[1], kind: match[3], value: match[4]}
		case section == "Global Flags:" && match != nil:
			c.global[match[2]] = flagOf{shorthand: match[1], kind: match[3], value: match[4]}
		}
	}
	return c
}

// Flags that Ordered Helm adds, or whose values it extends.
const waitFlag, readinessFlag, sequenceFlag = "wait", "readiness-timeout", "sequence-as"

// addedCommands are the commands that stock Helm does not have.
var addedCommands = []string{"dag", "drift", "plan", "schema", "state", "state init", "state migrate", "state status", "show scripts", "get scripts"}

// TestCommands checks that commands have the same names, usage lines and aliases as in stock
// Helm, and that their flags have the same names, shorthands, types and defaults.
func TestCommands(t *testing.T) {
	t.Parallel()
	programs := binaries.Get(t)
	ordered := map[string]flagOf{waitFlag: {kind: "true|false|ordered[=true]"}, readinessFlag: {kind: "duration"}}
	permissions := map[string]flagOf{"accept-perms": {kind: "strings"}, "yes": {shorthand: "y"}}
	rendered := map[string]flagOf{waitFlag: ordered[waitFlag], sequenceFlag: {kind: "string"}}
	rendered["order"] = flagOf{kind: "file"}
	maps.Copy(rendered, permissions)
	shown := map[string]flagOf{"progress": {kind: "mode", value: "(default auto)"}, "timeline": {kind: "string"}}
	differs := map[string]map[string]flagOf{
		"template": rendered, "test": shown, "lint": maps.Clone(permissions),
		"create": {"format": {kind: "format", value: "(default v2)"}}, "search repo": {"exclude-libraries": {}},
		"push": {"http-method": {kind: "post|put", value: "(default post)"}, "context-path": {kind: "string"}, "force": {}, "update-index": {}, "access-token": {kind: "string"}},
	}
	differs["lint"]["order"] = flagOf{kind: "file"}
	differs["lint"]["output"] = flagOf{shorthand: "o", kind: "format", value: "(default text)"}
	for _, path := range []string{"install", "rollback", "uninstall", "upgrade"} {
		differs[path] = maps.Clone(ordered)
		maps.Copy(differs[path], shown)
		maps.Copy(differs[path], permissions)
		if path == "rollback" || path == "uninstall" {
			differs[path]["no-scripts"] = flagOf{}
		}
		if path == "install" || path == "upgrade" {
			differs[path]["crds"] = flagOf{kind: "create|apply|skip"}
			differs[path]["order"] = flagOf{kind: "file"}
			differs[path]["plan"], differs[path]["plan-digest"] = flagOf{kind: "string"}, flagOf{kind: "string"}
		}
		if path == "upgrade" || path == "rollback" {
			differs[path]["recreate"] = flagOf{kind: "KIND/NAME"}
		}
		if path == "upgrade" {
			differs[path]["reuse-order"], differs[path]["only-if-changed"] = flagOf{}, flagOf{}
		}
		if path != "install" {
			differs[path]["takeover"] = flagOf{kind: "auto|never|force", value: "(default auto)"}
		}
	}
	stock, ours := commandsOf(t, programs.Stock), commandsOf(t, programs.Helm)
	for _, path := range addedCommands {
		if _, ok := ours[path]; !ok {
			t.Errorf("helm %s is missing", path)
		}
		delete(ours, path)
	}
	for _, path := range slices.Sorted(maps.Keys(ours)) {
		if _, ok := stock[path]; !ok {
			t.Errorf("helm %s is not a command of stock's", path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(stock)) {
		t.Run("helm "+path, func(t *testing.T) {
			want, got := stock[path], ours[path]
			if got.usage == "" {
				t.Fatal("is missing")
			}
			if d := diff(want.usage, got.usage); d != "" || want.usage == "" {
				t.Errorf("stock (-) and ours (+) differ:\n%s", d)
			}
			maps.Copy(want.flags, differs[path])
			compareFlags(t, want.flags, got.flags)
			compareFlags(t, want.global, got.global)
		})
	}
}

func compareFlags(t *testing.T, want, got map[string]flagOf) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if flag, ok := got[name]; !ok || flag != want[name] {
			t.Errorf("--%s is %+v, want %+v", name, flag, want[name])
		}
		delete(got, name)
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		t.Errorf("--%s is not a flag of stock's", name)
	}
}

// TestEveryCommandAndFlagIsCompared checks that each command of stock Helm, and each of its
// flags, occurs in the scenarios of this package.
func TestEveryCommandAndFlagIsCompared(t *testing.T) {
	t.Parallel()
	lines := commandLines(t)
	stock := commandsOf(t, binaries.Get(t).Stock)
	for _, path := range slices.Sorted(maps.Keys(stock)) {
		c := stock[path]
		if len(c.subcommands) > 0 {
			continue
		}
		own := slices.DeleteFunc(slices.Clone(lines), func(line []string) bool { return !c.isNamedIn(line) })
		if len(own) == 0 {
			t.Errorf("helm %s occurs in no scenario", path)
		}
		for _, name := range slices.Sorted(maps.Keys(c.flags)) {
			if name != "help" && !occurs(own, name, c.flags[name]) {
				t.Errorf("helm %s --%s occurs in no scenario", path, name)
			}
		}
	}
	global := stock["list"].global
	for _, name := range slices.Sorted(maps.Keys(global)) {
		if !occurs(lines, name, global[name]) {
			t.Errorf("--%s occurs in no scenario", name)
		}
	}
}

// commandLines returns the command lines in the source of the scenarios, each as a list of
// words.
func commandLines(t *testing.T) [][]string {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var lines [][]string
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		names := namedWords(file)
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if words := wordsOf(call.Args, names); len(words) > 0 {
				lines = append(lines, words)
			}
			return true
		})
	}
	return lines
}

// namedWords returns the words of the constants and variables that are declared in a file, by
// name.
func namedWords(file *ast.File) map[string][]string {
	names := make(map[string][]string)
	ast.Inspect(file, func(n ast.Node) bool {
		var left, right []ast.Expr
		switch n := n.(type) {
		case *ast.AssignStmt:
			left, right = n.Lhs, n.Rhs
		case *ast.ValueSpec:
			for _, name := range n.Names {
				left = append(left, name)
			}
			right = n.Values
		}
		for i := range min(len(left), len(right)) {
			if name, ok := left[i].(*ast.Ident); ok {
				names[name.Name] = append(names[name.Name], wordsOf(right[i:i+1], nil)...)
			}
		}
		return true
	})
	return names
}

// wordsOf returns the words of the string literals in expressions. names contains the words of
// the constants and variables to which the expressions refer.
func wordsOf(expressions []ast.Expr, names map[string][]string) []string {
	var words []string
	for _, expression := range expressions {
		ast.Inspect(expression, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
					words = append(words, strings.Fields(text)...)
				}
			case *ast.Ident:
				words = append(words, names[n.Name]...)
			}
			return !isCall(n)
		})
	}
	return words
}

func isCall(n ast.Node) bool {
	_, ok := n.(*ast.CallExpr)
	return ok
}

// isNamedIn reports whether a command line begins with the command or one of its aliases.
func (c command) isNamedIn(line []string) bool {
	names := strings.Fields(c.path)
	if len(line) < len(names) || !slices.Equal(line[:len(names)-1], names[:len(names)-1]) {
		return false
	}
	last := line[len(names)-1]
	if last == names[len(names)-1] {
		return true
	}
	_, aliases, _ := strings.Cut(c.usage, "Aliases:\n")
	return slices.Contains(strings.Split(strings.TrimSpace(aliases), ", "), last)
}

// occurs reports whether one of the command lines contains the flag.
func occurs(lines [][]string, name string, flag flagOf) bool {
	return slices.ContainsFunc(lines, func(words []string) bool {
		return slices.ContainsFunc(words, func(word string) bool {
			given, _, _ := strings.Cut(word, "=")
			return given == "--"+name || flag.shorthand != "" && given == "-"+flag.shorthand
		})
	})
}
