// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package ignorefile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ordered-helm/helm/internal/fielddiff"
	"github.com/ordered-helm/helm/internal/orderfile"
	"github.com/ordered-helm/helm/internal/similar"
	"github.com/ordered-helm/helm/internal/yamledit"
)

// Parse reads a file with rules. name is its path for messages. The error joins an *Error for each
// problem.
func Parse(name string, text []byte) (*File, error) {
	r := &reader{file: &File{name: name}}
	r.readDocument(string(text))
	if len(r.problems) == 0 {
		return r.file, nil
	}
	slices.SortStableFunc(r.problems, func(a, b *Error) int { return cmp.Compare(a.Line, b.Line) })
	errs := make([]error, len(r.problems))
	for i, p := range r.problems {
		errs[i] = p
	}
	return nil, errors.Join(errs...)
}

// reader reads a file, and collects all problems.
type reader struct {
	file     *File
	problems []*Error
}

func (r *reader) addf(line int, path, format string, args ...any) {
	r.problems = append(r.problems, &Error{File: r.file.name, Line: max(line, 1), Path: path, Problem: fmt.Sprintf(format, args...)})
}

func (r *reader) readDocument(text string) {
	if len(text) > MaxSize {
		r.addf(1, "", "has %d bytes; the maximum is %d", len(text), MaxSize)
		return
	}
	decoder := yaml.NewDecoder(strings.NewReader(text))
	var document, another yaml.Node
	err := decoder.Decode(&document)
	if err == nil {
		if next := decoder.Decode(&another); next == nil {
			r.addf(another.Line, "", "has more than one document: move the rules into one document")
		} else if !errors.Is(next, io.EOF) {
			err = next
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		line, problem := yamledit.SyntaxError(err)
		r.addf(line, "", "%s", problem)
		return
	}
	if err := yamledit.CheckAliases(text); err != nil {
		r.addf(1, "", "%v", err)
		return
	}
	var root *yaml.Node
	if len(document.Content) > 0 {
		root = yamledit.Resolve(document.Content[0])
	}
	if isNull(root) {
		r.addf(1, "", "has no rules: write them under ignore")
		return
	}
	r.readRules(root)
}

func (r *reader) readRules(root *yaml.Node) {
	top := r.mapping(root, "", []string{"ignore"})
	list, found := top["ignore"]
	if !found && len(r.problems) == 0 {
		r.addf(root.Line, "", "has no rules: write them under ignore")
	}
	items := r.items(list, "ignore")
	if len(items) > MaxRules {
		r.addf(list.Line, "ignore", "has %d rules; the maximum is %d", len(items), MaxRules)
		return
	}
	for i, item := range items {
		r.file.rules = append(r.file.rules, r.readRule(i, item))
	}
}

func (r *reader) readRule(i int, n *yaml.Node) *rule {
	path := fmt.Sprintf("ignore[%d]", i)
	found := &rule{line: n.Line, index: i}
	before := len(r.problems)
	fields := r.mapping(n, path, []string{"match", "fields", "managers"})
	if fields["match"] == nil && len(r.problems) == before {
		r.addf(n.Line, path, "match is required: it says to which objects the rule applies; match: {} matches all of them")
	}
	r.readMatch(&found.match, fields["match"], path+".match")
	for j, item := range r.items(fields["fields"], path+".fields") {
		at := fmt.Sprintf("%s.fields[%d]", path, j)
		text := r.text(item, at)
		if text == "" {
			continue
		}
		pattern, err := fielddiff.ParsePattern(text)
		if err != nil {
			r.addf(item.Line, at, "%q %v", text, err)
		}
		found.fields = append(found.fields, pattern)
	}
	for j, item := range r.items(fields["managers"], path+".managers") {
		if text := r.text(item, fmt.Sprintf("%s.managers[%d]", path, j)); text != "" {
			found.managers = append(found.managers, orderfile.ParseNamePattern(text))
		}
	}
	if len(r.problems) == before && found.fields == nil && found.managers == nil && (fields["fields"] != nil || fields["managers"] != nil) {
		r.addf(n.Line, path, "an empty list ignores nothing: remove it to ignore all differences of the objects, or add items")
	}
	return found
}

// kindPattern matches KIND and KIND.GROUP.
var kindPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$`)

func (r *reader) readMatch(m *match, n *yaml.Node, path string) {
	fields := r.mapping(n, path, []string{"kind", "name", "namespace", "labels"})
	if kind := r.optional(fields["kind"], path+".kind"); kind != "" {
		if !kindPattern.MatchString(kind) {
			r.addf(fields["kind"].Line, path+".kind", "%q must be KIND or KIND.GROUP, such as Deployment or Deployment.apps", kind)
		}
		m.kind, m.group, _ = strings.Cut(kind, ".")
	}
	if name := r.optional(fields["name"], path+".name"); name != "" {
		m.name = orderfile.ParseNamePattern(name)
	}
	if namespace := r.optional(fields["namespace"], path+".namespace"); namespace != "" {
		m.namespace = orderfile.ParseNamePattern(namespace)
	}
	m.labels = map[string]string{}
	for key, value := range r.mapping(fields["labels"], path+".labels", nil) {
		if value.Kind != yaml.ScalarNode || value.ShortTag() != "!!str" {
			r.addf(value.Line, path+".labels."+key, "must be a string: quote it")
		}
		m.labels[key] = value.Value
	}
}

// mapping returns the fields of a mapping. allowed are the fields that it can have; if it is nil,
// it can have any.
func (r *reader) mapping(n *yaml.Node, path string, allowed []string) map[string]*yaml.Node {
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		r.addf(n.Line, path, "must be a mapping")
		return nil
	}
	fields := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := yamledit.Resolve(n.Content[i])
		at := strings.TrimPrefix(path+"."+key.Value, ".")
		switch {
		case key.Kind != yaml.ScalarNode:
			r.addf(key.Line, path, "the name of a field must be a string")
		case fields[key.Value] != nil:
			r.addf(key.Line, at, "is defined twice")
		case allowed != nil && !slices.Contains(allowed, key.Value):
			r.addf(key.Line, at, "%s", unknownField(key.Value, allowed))
		default:
			fields[key.Value] = yamledit.Resolve(n.Content[i+1])
		}
	}
	return fields
}

func unknownField(name string, allowed []string) string {
	if nearest := similar.Nearest(name, allowed); nearest != "" {
		return fmt.Sprintf("unknown field: did you mean %s?", nearest)
	}
	return "unknown field: must be one of " + strings.Join(allowed, ", ")
}

// items returns the items of a list. n can be nil.
func (r *reader) items(n *yaml.Node, path string) []*yaml.Node {
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		r.addf(n.Line, path, "must be a list")
		return nil
	}
	items := make([]*yaml.Node, len(n.Content))
	for i, item := range n.Content {
		items[i] = yamledit.Resolve(item)
	}
	return items
}

// optional returns a text that can be omitted. n is nil if it is.
func (r *reader) optional(n *yaml.Node, path string) string {
	if n == nil {
		return ""
	}
	return r.text(n, path)
}

// text returns a text that is not empty. It adds a problem if n is none.
func (r *reader) text(n *yaml.Node, path string) string {
	switch {
	case n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str":
		r.addf(n.Line, path, "must be a string: quote it")
		return ""
	case n.Value == "":
		r.addf(n.Line, path, "must not be empty")
	case len(n.Value) > orderfile.MaxPatternLength:
		r.addf(n.Line, path, "is longer than %d characters", orderfile.MaxPatternLength)
		return ""
	}
	return n.Value
}

func isNull(n *yaml.Node) bool { return n == nil || n.ShortTag() == "!!null" }
