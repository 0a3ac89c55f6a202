// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package fielddiff compares the fields of objects, names fields in texts, and finds out which
// client has set a field (docs/reference.md, "helm drift"). It sends no requests.
package fielddiff

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Path leads from the root of an object to one of its fields.
type Path []Element

// ElementKind says what an Element selects.
type ElementKind int

const (
	// Field is a field of a mapping. Element.Name is its name.
	Field ElementKind = iota
	// Key is the item of a list in which the field Element.Name has the value Element.Value.
	Key
	// Value is the item of a set that equals Element.Value.
	Value
	// Index is the item of a list with the index Element.Index.
	Index
)

// Element is a step of a Path.
type Element struct {
	Kind  ElementKind
	Name  string
	Value any
	Index int
}

// simpleName matches names of fields that need no quotes.
var simpleName = regexp.MustCompile(`^[A-Za-z0-9_$-]+$`)

// simpleValue matches values of fields in the key of an item that need no quotes.
var simpleValue = regexp.MustCompile(`^[A-Za-z0-9_./:$-]+$`)

// String returns the path in the syntax of ParsePattern, as in
// spec.template.spec.containers[name=app].image.
func (p Path) String() string {
	var b strings.Builder
	for _, e := range p {
		text := e.String()
		if b.Len() > 0 && text[0] != '[' {
			b.WriteByte('.')
		}
		b.WriteString(text)
	}
	return b.String()
}

// String returns the text of the element in a path.
func (e Element) String() string {
	switch e.Kind {
	case Key:
		return "[" + e.Name + "=" + quoteValue(e.Value) + "]"
	case Value:
		return "[=" + quoteValue(e.Value) + "]"
	case Index:
		return "[" + strconv.Itoa(e.Index) + "]"
	case Field:
	}
	if simpleName.MatchString(e.Name) {
		return e.Name
	}
	return "[" + strconv.Quote(e.Name) + "]"
}

func quoteValue(value any) string {
	text := fmt.Sprint(value)
	if _, isText := value.(string); isText && !simpleValue.MatchString(text) {
		return strconv.Quote(text)
	}
	return text
}

// With returns the path that leads one element further.
func (p Path) With(e Element) Path { return append(p[:len(p):len(p)], e) }
