// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package docs checks the pages of the documentation: it writes the files that a page shows,
// runs the commands, and compares their output with the page.
//
// The language of a fenced block on a page determines how it is used:
//
//   - yaml whose first line is a comment with a path, such as "# shop/Chart.yaml", is a
//     file. A later block with the same path replaces it, so that a chart can grow with the
//     page. Other yaml must be a part of such a file on the page.
//   - lua is like yaml, for scripts. The comment is "-- shop/ext/lua/label.lua".
//   - console contains commands, in lines that begin with "$ ", and their output. A
//     backslash at the end of a line continues the command on the next line. If a command has
//     no output below it, its output is not checked. Each command must succeed, unless the
//     next one is "$ echo $?" with another result. Each command runs in its own shell.
//   - go must be part of a file in examples/.
//   - text is for diagrams and is not checked.
//
// Commands find the files in the directory charts.example.com at http://charts.example.com, and can
// upload files there. http://museum.example.com is a repository with the API of ChartMuseum.
//
// "..." stands for any text within a line. Alone on a line, it stands for any lines. A
// comment "<!-- not run: REASON -->" before a block excludes it from all checks.
package docs

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Page contains the parts of a page that can be checked.
type Page struct {
	// Steps are the files and commands of the page, from top to bottom.
	Steps []Step
	// Parts are blocks that must be part of a file on the page or in examples/.
	Parts []Part
	// NotRun contains the reasons of the "not run" comments on the page.
	NotRun []string
}

// Step is one file to write or one command to run.
type Step struct {
	// Line is the line number of the step on the page, starting at 1.
	Line int
	// File and Content are the path and the content of a file. Both are empty for a command.
	File, Content string
	// Command is a shell command.
	Command string
	// Output contains the expected lines. It is empty if the output is not checked.
	Output []string
	// Code is the expected exit code of the command.
	Code int
}

// Part is a block on a page that must be part of a file.
type Part struct {
	Line int
	// Language is yaml, lua or go.
	Language string
	Text     string
}

// block is a fenced code block on a page.
type block struct {
	line     int // of its first line of content
	language string
	lines    []string
	// notRun is the reason in the comment "not run" before the block, or empty if there is
	// none.
	notRun string
}

var (
	notRun = regexp.MustCompile(`^<!-- not run:(.*)-->$`)
	path   = regexp.MustCompile(`^(?:#|--) ((?:[A-Za-z0-9_.-]+/)*[A-Za-z0-9_-]+\.(?:yaml|tpl|txt|lua))$`)
)

// Parse parses a page. Errors begin with a line number.
func Parse(text string) (*Page, error) {
	found, err := blocks(text)
	if err != nil {
		return nil, err
	}
	page := &Page{}
	for _, b := range found {
		if err := page.add(b); err != nil {
			return nil, err
		}
	}
	return page, nil
}

func (p *Page) add(b block) error {
	switch {
	case b.notRun != "":
		p.NotRun = append(p.NotRun, b.notRun)
		return nil
	case len(b.lines) == 0:
		return fmt.Errorf("%d: an empty block", b.line)
	}
	text := strings.Join(b.lines, "\n") + "\n"
	switch b.language {
	case "yaml", "lua":
		if m := path.FindStringSubmatch(b.lines[0]); m != nil {
			p.Steps = append(p.Steps, Step{Line: b.line, File: m[1], Content: text})
			return nil
		}
		p.Parts = append(p.Parts, Part{b.line, b.language, text})
	case "go":
		p.Parts = append(p.Parts, Part{b.line, b.language, text})
	case "console":
		steps, err := commands(b)
		p.Steps = append(p.Steps, steps...)
		return err
	case "text":
	default:
		return fmt.Errorf("%d: a block of the language %q: use yaml, lua, console, go or text", b.line, b.language)
	}
	return nil
}

// blocks returns the fenced code blocks of a page.
func blocks(text string) ([]block, error) {
	const fence = "```"
	var found []block
	var open *block
	reason, marked := "", 0 // from a comment that a block must follow, and its line
	for i, line := range strings.Split(text, "\n") {
		at, trimmed := i+1, strings.TrimSpace(line)
		switch m := notRun.FindStringSubmatch(trimmed); {
		case open != nil && line == fence:
			found = append(found, *open)
			open = nil
		case open != nil:
			open.lines = append(open.lines, line)
		case strings.HasPrefix(line, fence):
			open = &block{line: at + 1, language: strings.TrimPrefix(line, fence), notRun: reason}
			reason, marked = "", 0
		case strings.HasPrefix(trimmed, fence):
			return nil, fmt.Errorf("%d: the block is indented", at)
		case len(m) == 2 && strings.TrimSpace(m[1]) == "":
			return nil, fmt.Errorf("%d: there is no reason why it is not run", at)
		case m != nil:
			reason, marked = strings.TrimSpace(m[1]), at
		case trimmed != "" && marked > 0:
			return nil, fmt.Errorf("%d: no block follows the comment", marked)
		}
	}
	switch {
	case open != nil:
		return nil, fmt.Errorf("%d: the block does not end", open.line)
	case marked > 0:
		return nil, fmt.Errorf("%d: no block follows the comment", marked)
	}
	return found, nil
}

// commands returns the commands in a console block, with their output.
func commands(b block) ([]Step, error) {
	const prompt, exitCode = "$ ", "echo $?"
	var steps []Step
	continued := false
	for i, line := range b.lines {
		at := b.line + i
		command, isCommand := strings.CutPrefix(line, prompt)
		switch {
		case continued:
			steps[len(steps)-1].Command += "\n" + line
		case isCommand && strings.HasPrefix(command, "cd "), isCommand && strings.HasPrefix(command, "export "):
			return nil, fmt.Errorf("%d: %q has no effect on the next command, which has a shell of its own", at, command)
		case isCommand:
			steps = append(steps, Step{Line: at, Command: command})
		case len(steps) == 0:
			return nil, fmt.Errorf("%d: there is no command before %q", at, line)
		default:
			steps[len(steps)-1].Output = append(steps[len(steps)-1].Output, line)
		}
		continued = (continued || isCommand) && strings.HasSuffix(line, `\`)
	}
	var kept []Step
	for _, s := range steps {
		switch {
		case s.Command != exitCode:
			kept = append(kept, s)
			continue
		case len(kept) == 0 || len(s.Output) != 1:
			return nil, fmt.Errorf("%d: %s comes after a command, and has a number under it", s.Line, exitCode)
		}
		code, err := strconv.Atoi(s.Output[0])
		if err != nil {
			return nil, fmt.Errorf("%d: %q is no exit code", s.Line, s.Output[0])
		}
		kept[len(kept)-1].Code = code
	}
	return kept, nil
}

// Contains reports whether a file contains the lines of a part consecutively, with any
// indentation.
func Contains(file, part string) bool {
	lines := func(text string) string {
		var b strings.Builder
		b.WriteString("\n")
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" {
				b.WriteString(line + "\n")
			}
		}
		return b.String()
	}
	return strings.Contains(lines(file), lines(part))
}
