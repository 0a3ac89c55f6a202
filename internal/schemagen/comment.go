// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package schemagen

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/yamledit"
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

// refuseBlocks returns an error if a comment of n or below begins a block between two lines, as in
// dadav's helm-schema. Such a block need not be directly above a key.
func (r *commentReader) refuseBlocks(n *yaml.Node) error {
	for line := range strings.Lines(n.HeadComment + "\n" + n.LineComment + "\n" + n.FootComment) {
		text := commentText(line)
		if text != "@schema" && !strings.HasPrefix(text, "@schema.") {
			continue
		}
		number := 1 + slices.IndexFunc(r.lines, func(l string) bool { return strings.Contains(l, "#") && strings.HasSuffix(strings.TrimSpace(l), text) })
		return &Error{r.file, number, fmt.Sprintf("blocks between two lines %q are not supported: ", "# "+strings.Fields(text)[0]) +
			"write keywords on the line of the annotation, such as \"# @schema type:string; minLength:1\", or edit values.schema.yaml"}
	}
	for _, c := range n.Content {
		if err := r.refuseBlocks(c); err != nil {
			return err
		}
	}
	return nil
}

// annotate adds to s what the comments in the node n and below say about its values. s describes
// all values of the nodes for which annotate is called. path is the path of n.
func (r *commentReader) annotate(s *schema, n *yaml.Node, path string) error {
	n = yamledit.Resolve(n)
	if n == nil {
		return nil
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if err := r.annotateEntry(s, n.Content[i], n.Content[i+1], path); err != nil {
				return err
			}
		}
		sortProperties(s, n)
	case yaml.SequenceNode:
		for _, item := range n.Content {
			a, err := r.read(r.onLine(item.Line, item))
			if err != nil {
				return err
			}
			s.items.declare(a)
			if err := r.annotate(s.items, item, path+"[]"); err != nil {
				return err
			}
		}
	case yaml.ScalarNode:
		if n.ShortTag() == "!!float" { // 1.0 is 1 in JSON
			if i := slices.Index(s.types, "integer"); i >= 0 {
				s.types[i] = "number"
			}
		}
	}
	return nil
}

// annotateEntry adds to the schema s of a mapping what the comments of an entry say. path is the
// path of the mapping.
func (r *commentReader) annotateEntry(s *schema, key, value *yaml.Node, path string) error {
	name := keyName(key)
	p := s.property(name)
	if p == nil || slices.Contains(s.hidden, name) {
		return nil
	}
	path = strings.TrimPrefix(path+"."+key.Value, ".")
	above, lines := r.above(key), r.onLine(key.Line, key, value)
	isFirst := r.isFirstOnLine(key)
	if isFirst {
		lines = append(above, lines...)
	}
	a, err := r.read(append(slices.Clone(lines), r.below(key)...))
	if err != nil {
		return err
	}
	text := description(lines, path, false)
	if !isFirst && text == "" {
		text = description(above, path, true)
	}
	if text != "" && !a.declares("description") {
		a.keywords = append([]keyword{{"description", textNode(text)}}, a.keywords...)
	}
	if a.hidden {
		s.hidden = append(s.hidden, name)
		s.properties = slices.DeleteFunc(s.properties, func(p property) bool { return p.name == name })
		return nil
	}
	if err := r.annotate(p, value, path); err != nil {
		return err
	}
	p.declare(a)
	if a.required && !slices.Contains(s.required, name) {
		s.required = append(s.required, name)
	}
	return nil
}

// booleanKey matches keys that are booleans in YAML 1.1.
var booleanKey = regexp.MustCompile(`^(?i:y|yes|on|true|n|no|off|false)$`)

// keyName returns the name of an entry as Helm reads it: the key on is true, unless it has quotes.
func keyName(key *yaml.Node) string {
	if key.Style == 0 && booleanKey.MatchString(key.Value) {
		var entry map[string]any
		if sigsyaml.Unmarshal([]byte(key.Value+": 0"), &entry) == nil {
			for name := range entry {
				return name
			}
		}
	}
	return key.Value
}

// sortProperties sorts the entries of a schema as in the mapping n, and others after them.
func sortProperties(s *schema, n *yaml.Node) {
	place := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		place[keyName(n.Content[i])] = i - len(n.Content)
	}
	slices.SortStableFunc(s.properties, func(a, b property) int { return cmp.Compare(place[a.name], place[b.name]) })
}

// read returns what lines with comments say.
func (r *commentReader) read(lines []commentLine) (*annotation, error) {
	found := &annotation{}
	for _, line := range lines {
		a, err := r.annotation(line)
		if err != nil {
			return nil, err
		}
		if a != nil {
			found.add(a)
		}
	}
	return found, nil
}

// onLine returns the comments of the nodes at the end of a line.
func (r *commentReader) onLine(number int, nodes ...*yaml.Node) []commentLine {
	var lines []commentLine
	for _, n := range nodes {
		if n.LineComment != "" && n.Line == number {
			lines = append(lines, commentLine{number, commentText(n.LineComment)})
		}
	}
	return lines
}

// below returns the lines with comments directly below the value of a key, before an empty line.
func (r *commentReader) below(key *yaml.Node) []commentLine {
	var lines []commentLine
	number := key.Line
	for text := range strings.Lines(key.FootComment) {
		text = commentText(text)
		for number < len(r.lines) && (text == "" || commentText(r.lines[number]) != text) {
			number++
		}
		number++
		lines = append(lines, commentLine{number, text})
	}
	return lines
}

// isFirstOnLine reports whether a line begins with a key. Comments above the line are not about
// other keys on it, unless they name them.
func (r *commentReader) isFirstOnLine(key *yaml.Node) bool {
	line := r.lines[key.Line-1]
	return strings.Trim(line[:min(key.Column-1, len(line))], " ") == ""
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
	if !isAnnotation || text == "" || text[0] != ' ' && text[0] != '\t' {
		return nil, nil
	}
	a, err := parseAnnotation(text)
	if err != nil {
		return nil, &Error{r.file, line.number, "@schema: " + err.Error()}
	}
	return a, nil
}

// descriptionLine matches the first line of a description as helm-docs reads it. The line can
// name the value, with quotes around keys, and its type.
var descriptionLine = regexp.MustCompile(`^(?:([^\s"]*(?:"[^"]*"[^\s"]*)*)\s+)?--(?:\s*\([\w/.-]+\))?(?:\s*([^-\s].*))?$`)

// description returns the description of the value at path. If mustName is true, it must name the
// value.
func description(lines []commentLine, path string, mustName bool) string {
	var parts []string
	inDescription := false
	for _, line := range lines {
		m := descriptionLine.FindStringSubmatch(line.text)
		switch {
		case len(m) == 3:
			if inDescription = m[1] == "" && !mustName || strings.ReplaceAll(m[1], `"`, "") == path; inDescription {
				parts = []string{m[2]}
			}
		case strings.HasPrefix(line.text, "@"):
			inDescription = false
		case inDescription:
			parts = append(parts, line.text)
		}
	}
	return strings.Join(strings.Fields(strings.Join(parts, " ")), " ")
}
