// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package orderfile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/joinederror"
	"github.com/ordered-helm/helm/internal/similar"
	"github.com/ordered-helm/helm/internal/yamledit"
)

// reader reads an order file, and collects all problems.
type reader struct {
	file     *File
	problems []*Error
}

// err joins the problems, in the order of their lines.
func (r *reader) err() error {
	slices.SortStableFunc(r.problems, func(a, b *Error) int { return cmp.Compare(a.Line, b.Line) })
	errs := make([]error, len(r.problems))
	for i, p := range r.problems {
		errs[i] = p
	}
	return errors.Join(errs...)
}

// addf adds a problem of the value n, which is at path.
func (r *reader) addf(n *yaml.Node, path, format string, args ...any) {
	line := 1
	if n != nil {
		line = max(n.Line, 1)
	}
	r.problems = append(r.problems, &Error{File: r.file.Name, Line: line, Path: path, Problem: fmt.Sprintf(format, args...)})
}

// add adds the problems that a function of package annotation found in the value n. It was called
// with path as the key.
func (r *reader) add(n *yaml.Node, path string, err error) {
	for _, e := range joinederror.Split(err) {
		r.addf(n, path, "%s", strings.TrimPrefix(e.Error(), path+": "))
	}
}

// mapping contains the fields of a mapping, and where it is.
type mapping struct {
	r      *reader
	node   *yaml.Node
	path   string
	fields map[string]*yaml.Node
}

// readMapping returns the mapping n, which is at path. allowed are the fields that it can have; if
// it is nil, the mapping can have any.
func (r *reader) readMapping(n *yaml.Node, path string, allowed []string) mapping {
	m := mapping{r: r, node: n, path: path, fields: map[string]*yaml.Node{}}
	if isNull(n) {
		return m
	}
	if n.Kind != yaml.MappingNode {
		r.addf(n, path, "must be a mapping")
		return m
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := yamledit.Resolve(n.Content[i])
		_, twice := m.fields[key.Value]
		switch at := m.at(key.Value); {
		case key.Kind != yaml.ScalarNode:
			r.addf(key, path, "the name of a field must be a string")
		case key.Tag == "!!merge":
			r.addf(key, path, "YAML merge keys (<<) are not supported: write the fields out")
		case twice:
			r.addf(key, at, "is defined twice")
		case allowed != nil && !slices.Contains(allowed, key.Value):
			r.addf(key, at, "%s", unknownField(key.Value, allowed))
		default:
			m.fields[key.Value] = yamledit.Resolve(n.Content[i+1])
		}
	}
	return m
}

func unknownField(name string, allowed []string) string {
	if nearest := similar.Nearest(name, allowed); nearest != "" {
		return fmt.Sprintf("unknown field: did you mean %s?", nearest)
	}
	return "unknown field: must be one of " + strings.Join(allowed, ", ")
}

// at returns the path of a field.
func (m mapping) at(field string) string { return strings.TrimPrefix(m.path+"."+field, ".") }

// require adds a problem if the mapping does not have a field. why says what the field is for.
func (m mapping) require(field, why string) {
	_, found := m.fields[field]
	if isMapping := isNull(m.node) || m.node.Kind == yaml.MappingNode; isMapping && !found {
		m.r.addf(m.node, m.path, "%s is required: %s", field, why)
	}
}

// mapping returns a field that is a mapping.
func (m mapping) mapping(field string, allowed []string) mapping {
	return m.r.readMapping(m.fields[field], m.at(field), allowed)
}

// items returns the items of a field that is a list.
func (m mapping) items(field string) []*yaml.Node {
	n := m.fields[field]
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		m.r.addf(n, m.at(field), "must be a list")
		return nil
	}
	return n.Content
}

// text returns the text of a field that is not empty. It returns "" and reports no problem if the
// mapping does not have the field.
func (m mapping) text(field string) string {
	n, found := m.fields[field]
	if !found {
		return ""
	}
	value, isText := annotation.DecodeYAML(n).(string)
	switch {
	case isNull(n) || isText && strings.TrimSpace(value) == "":
		m.r.addf(n, m.at(field), "must not be empty")
	case !isText:
		m.r.addf(n, m.at(field), "must be a string")
	case len(value) > MaxPatternLength:
		m.r.addf(n, m.at(field), "has %d bytes; the maximum is %d", len(value), MaxPatternLength)
	default:
		return value
	}
	return ""
}

// read returns the value of a field, which a function of package annotation reads. It returns the
// zero value if the mapping does not have the field.
func read[T any](m mapping, field string, readValue func(key string, value any) (T, error)) T {
	var none T
	n := m.fields[field]
	if n == nil {
		return none
	}
	value, err := readValue(m.at(field), annotation.DecodeYAML(n))
	if err != nil {
		m.r.add(n, m.at(field), err)
		return none
	}
	return value
}

func isNull(n *yaml.Node) bool {
	return n == nil || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}
