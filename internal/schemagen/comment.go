// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package schemagen

import (
	"fmt"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

// Error is an error in a comment of values.yaml.
type Error struct {
	File    string
	Line    int
	Problem string
}

func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Problem) }

// commentReader reads the comments of a values.yaml.
type commentReader struct {
	file  string
	lines []string
}

// commentLine is a line with a comment. text has no # and no spaces around it.
type commentLine struct {
	number int
	text   string
}

// of returns what the comments directly above a key, and on its line, say about its value. path
// is the path of the value.
func (r *commentReader) of(key, value *yaml.Node, path string) (*annotation, error) {
	lines := r.above(key)
	for _, n := range []*yaml.Node{key, value} {
		if n.LineComment != "" && n.Line == key.Line {
			lines = append(lines, commentLine{n.Line, commentText(n.LineComment)})
		}
	}
	found := &annotation{}
	for _, line := range lines {
		a, err := r.annotation(line)
		if err != nil {
			return nil, err
		}
		if a != nil {
			found.keywords = append(found.keywords, a.keywords...)
			found.required, found.hidden = found.required || a.required, found.hidden || a.hidden
			found.skipProperties = found.skipProperties || a.skipProperties
		}
	}
	text := description(lines, path)
	for _, k := range found.keywords {
		if k.name == "description" {
			text = ""
		}
	}
	if text != "" {
		found.keywords = append([]keyword{{"description", textNode(text)}}, found.keywords...)
	}
	return found, nil
}

// above returns the lines with comments directly above a key. Lines that are indented more can
// be the end of a text, and are not comments of the key.
func (r *commentReader) above(key *yaml.Node) []commentLine {
	first := key.Line
	for ; first > 1; first-- {
		line := r.lines[first-2]
		trimmed := strings.TrimLeft(line, " \t")
		if !strings.HasPrefix(trimmed, "#") || len(line)-len(trimmed) >= key.Column {
			break
		}
	}
	var lines []commentLine
	for number := first; number < key.Line; number++ {
		lines = append(lines, commentLine{number, commentText(r.lines[number-1])})
	}
	return lines
}

func commentText(line string) string {
	return strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "#"))
}

// annotation parses a line with @schema. It returns nil for any other line.
func (r *commentReader) annotation(line commentLine) (*annotation, error) {
	text, isAnnotation := strings.CutPrefix(line.text, "@schema")
	switch {
	case !isAnnotation:
		return nil, nil
	case text == "":
		return nil, &Error{r.file, line.number, "blocks between two lines \"# @schema\" are not supported: " +
			"write keywords on the line of the annotation, such as \"# @schema type:string; minLength:1\""}
	case text[0] == '.':
		return nil, &Error{r.file, line.number, "the annotation @schema" + strings.Fields(text)[0] + " is not supported: edit values.schema.yaml instead"}
	case text[0] != ' ' && text[0] != '\t':
		return nil, nil
	}
	a, err := parseAnnotation(text)
	if err != nil {
		return nil, &Error{r.file, line.number, "@schema: " + err.Error()}
	}
	return a, nil
}

// descriptionLine matches the first line of a description as helm-docs reads it. The line can
// name the value, and its type.
var descriptionLine = regexp.MustCompile(`^(?:(\S+)\s+)?--(?:\s+(?:\([\w/]+\)\s*)?(.*))?$`)

// description returns the description of the value at path.
func description(lines []commentLine, path string) string {
	var parts []string
	inDescription := false
	for _, line := range lines {
		m := descriptionLine.FindStringSubmatch(line.text)
		switch {
		case m != nil && m[1] == "" || m != nil && m[1] == path:
			parts, inDescription = []string{m[2]}, true
		case strings.HasPrefix(line.text, "@") || m != nil:
			inDescription = false
		case inDescription:
			parts = append(parts, line.text)
		}
	}
	return strings.Join(strings.Fields(strings.Join(parts, " ")), " ")
}
