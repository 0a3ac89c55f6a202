// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package formatcharts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"gopkg.in/yaml.v3"
)

// mapping is a YAML mapping with the order of its fields.
type mapping []field

// field is a field of a mapping. Its value is a string, a literal, a mapping or a list.
type field struct {
	key   string
	value any
}

// list is a YAML list.
type list []any

// literal is a scalar that must be written as it is, such as true.
type literal string

// yamlWriter writes one YAML document in a random style: block or flow, with different quotes,
// comments, anchors and aliases.
type yamlWriter struct {
	*rand.Rand
	text strings.Builder
	// anchors contains the anchors of scalars that were written, by their value.
	anchors map[string]string
}

// randomYAML returns a YAML document with the given content.
func randomYAML(r *rand.Rand, content mapping) string {
	w := &yamlWriter{Rand: r, anchors: map[string]string{}}
	w.comment("")
	if w.IntN(4) == 0 {
		w.text.WriteString("---\n")
	}
	w.fields(content, "")
	return w.text.String()
}

func (w *yamlWriter) comment(indent string) {
	if w.IntN(6) == 0 {
		w.text.WriteString(indent + "# a comment: {with} 'signs' &a *a\n")
	}
}

// fields writes a mapping in block style.
func (w *yamlWriter) fields(content mapping, indent string) {
	for _, f := range content {
		w.comment(indent)
		w.text.WriteString(indent + w.key(f.key) + ":")
		w.value(f.value, indent)
	}
}

// value writes a value after a key or after the dash of an item.
func (w *yamlWriter) value(value any, indent string) {
	inner := indent + strings.Repeat(" ", 1+w.IntN(3))
	flow := w.IntN(3) == 0
	switch value := value.(type) {
	case mapping:
		if !flow && len(value) > 0 {
			w.text.WriteString("\n")
			w.fields(value, inner)
			return
		}
	case list:
		if !flow && len(value) > 0 {
			w.text.WriteString("\n")
			for _, item := range value {
				w.comment(inner)
				w.text.WriteString(inner + "-")
				w.value(item, inner)
			}
			return
		}
	case string:
		w.line(w.anchored(value, func() string { return w.scalar(value, "k: %s\n", indent) }))
		return
	}
	w.line(w.flow(value))
}

// line ends a line with the text of a value, and perhaps with a comment.
func (w *yamlWriter) line(text string) {
	if w.IntN(6) == 0 && !strings.Contains(text, "\n") {
		text += "  # why"
	}
	w.text.WriteString(" " + text + "\n")
}

// flow returns a value in flow style.
func (w *yamlWriter) flow(value any) string {
	switch value := value.(type) {
	case mapping:
		var fields []string
		for _, f := range value {
			fields = append(fields, w.key(f.key)+": "+w.flow(f.value))
		}
		return "{" + strings.Join(fields, ", ") + "}"
	case list:
		var items []string
		for _, item := range value {
			items = append(items, w.flow(item))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case string:
		return w.anchored(value, func() string { return w.scalar(value, "{k: %s, l: m}\n", "") })
	default:
		return fmt.Sprint(value)
	}
}

func (w *yamlWriter) key(key string) string { return w.scalar(key, "k: {%s: v}\n", "") }

// anchored returns an alias of a scalar that was written before, or the text of a scalar, which can
// get an anchor.
func (w *yamlWriter) anchored(value string, text func() string) string {
	if anchor, known := w.anchors[value]; known && w.IntN(2) == 0 {
		return "*" + anchor + " "
	}
	if w.IntN(6) > 0 {
		return text()
	}
	anchor := fmt.Sprintf("a%d", len(w.anchors))
	w.anchors[value] = anchor
	return "&" + anchor + " " + text()
}

// scalar returns the text of a scalar in a random style in which it has the given value. context is
// the format of a document with the scalar.
func (w *yamlWriter) scalar(value, context, indent string) string {
	styles := []string{value, "'" + strings.ReplaceAll(value, "'", "''") + "'", quoted(value), "!!str " + quoted(value)}
	if !strings.HasPrefix(context, "{") && !strings.Contains(context, "{%s") {
		styles = append(styles, blockScalar(value, indent))
	}
	for range 4 {
		if text := styles[w.IntN(len(styles))]; hasValue(fmt.Sprintf(context, text), value) {
			return text
		}
	}
	return quoted(value)
}

func quoted(value string) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // strings can always be encoded
	}
	return strings.TrimSuffix(text.String(), "\n")
}

func blockScalar(value, indent string) string {
	text, sign := strings.TrimSuffix(value, "\n"), "|-"
	if text != value {
		sign = "|"
	}
	return sign + "\n" + indent + "    " + strings.ReplaceAll(text, "\n", "\n"+indent+"    ")
}

// hasValue reports whether the first key or value of a document, other than k, has the given value,
// and is not null.
func hasValue(document, value string) bool {
	var root yaml.Node
	if yaml.Unmarshal([]byte(document), &root) != nil || len(root.Content) == 0 {
		return false
	}
	n := root.Content[0]
	if n.Kind != yaml.MappingNode || len(n.Content) < 2 {
		return false
	}
	if n = n.Content[1]; n.Kind == yaml.MappingNode && len(n.Content) == 2 {
		n = n.Content[0]
	}
	return n.Kind == yaml.ScalarNode && n.Value == value && n.ShortTag() != "!!null"
}
