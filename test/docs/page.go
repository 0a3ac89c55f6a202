// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package docs runs the pages of the documentation: it writes the files that a page
// shows, runs the commands, and compares what they print.
//
// Of the fenced blocks of a page,
//
//   - yaml whose first line is a comment with a path, such as "# shop/Chart.yaml", is a
//     file. A later block with the same path replaces it: a chart grows with the page.
//     Other yaml has to be a part of such a file of the page;
//   - console has commands, in lines that begin with "$ ", and what they print. A
//     backslash at the end of a line goes on in the next one. Without any output under it
//     a command may print what it likes. Each has to succeed, unless the next one is
//     "$ echo $?" and says otherwise. Each has a shell of its own;
//   - go has to be part of a file in examples/;
//   - text is for diagrams and is not looked at.
//
// "..." stands for any text within a line; alone on a line, for any lines. A comment
// "<!-- not run: REASON -->" before a block takes it out of all this.
package docs

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Page is what a page has that can be checked.
type Page struct {
	// Steps are its files and commands, from the top to the bottom.
	Steps []Step
	// Parts are parts of files, of the page itself or of examples/.
	Parts []Part
	// NotRun are the reasons of those blocks that are not run.
	NotRun []string
}

// Step is one file to write or one command to run.
type Step struct {
	// Line is where it stands on the page, from 1.
	Line int
	// File is the path of a file, and Content what it holds; of a command they are
	// empty.
	File, Content string
	// Command is for a shell.
	Command string
	// Output are the lines that it has to print; none if that does not matter.
	Output []string
	// Code is its exit code.
	Code int
}

// Part is a part of a file.
type Part struct {
	Line int
	// Language is yaml or go.
	Language string
	Text     string
}

// block is a fenced block.
type block struct {
	line     int // of its first line of content
	language string
	lines    []string
	// notRun is why it is not run; empty if it is.
	notRun string
}

var (
	notRun = regexp.MustCompile(`^<!-- not run:(.*)-->$`)
	path   = regexp.MustCompile(`^# ([A-Za-z0-9_.-]+/)*[A-Za-z0-9_-]+\.(yaml|tpl|txt)$`)
)

// Parse reads a page. Errors begin with the number of a line.
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
	case "yaml":
		if path.MatchString(b.lines[0]) {
			p.Steps = append(p.Steps, Step{Line: b.line, File: strings.TrimPrefix(b.lines[0], "# "), Content: text})
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
		return fmt.Errorf("%d: a block of the language %q: use yaml, console, go or text", b.line, b.language)
	}
	return nil
}

// blocks finds the fenced blocks of a page.
func blocks(text string) ([]block, error) {
	const fence = "```"
	var found []block
	var open *block
	reason, marked := "", 0 // of a comment that a block has to follow, and its line
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

// commands reads the commands of a block.
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

// Contains tells whether a file has the lines of a part, one after the other, at
// whatever depth.
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
