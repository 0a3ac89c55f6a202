// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fielddiff

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ordered-helm/helm/internal/orderfile"
)

// Pattern selects fields by their paths (docs/reference.md, "Rules for ignoring drift"). It also
// selects everything below such a field.
type Pattern struct {
	elements []patternElement
}

// patternElement matches an element of a path.
type patternElement struct {
	// any means any number of elements (**), and anyItem any item of a list ([*]).
	any, anyItem bool
	kind         ElementKind
	index        int
	// name and value are those of an Element, in which * stands for any text. The value of a key is
	// compared as text.
	name, value orderfile.NamePattern
}

// maxPattern limits the length of a pattern.
const maxPattern = 1024

// ParsePattern parses the pattern of a path. Its elements are names of fields that are separated by
// dots, and in brackets: names of fields with other characters, in quotes; the index of an item
// of a list, or * for all items; the field and value that identify an item (name=app); or = and
// the value of an item. In names and values, * stands for any text, and the name ** for any number
// of elements.
func ParsePattern(text string) (Pattern, error) {
	if len(text) > maxPattern {
		return Pattern{}, fmt.Errorf("is longer than %d characters", maxPattern)
	}
	var p Pattern
	for rest := text; ; {
		e, after, err := parseElement(rest)
		if err != nil {
			return Pattern{}, err
		}
		p.elements = append(p.elements, e)
		switch {
		case after == "":
			return p, nil
		case after[0] == '.':
			rest = after[1:]
			if rest == "" || rest[0] == '[' {
				return Pattern{}, errors.New("has no name after a dot")
			}
		default:
			rest = after
		}
	}
}

// parseElement parses the first element of a pattern, and returns the text after it, which is
// empty or begins with a dot or a bracket.
func parseElement(text string) (e patternElement, rest string, err error) {
	if strings.HasPrefix(text, "[") {
		return parseBrackets(text[1:])
	}
	end := strings.IndexAny(text, ".[")
	if end < 0 {
		end = len(text)
	}
	name, rest := text[:end], text[end:]
	switch {
	case name == "":
		return e, "", errors.New("has an empty name")
	case name == "**":
		return patternElement{any: true}, rest, nil
	case strings.Contains(name, "**"):
		return e, "", errors.New("must not contain ** beside other characters: ** stands for any number of names, and * for any part of one name")
	case strings.ContainsAny(name, `]"= `):
		return e, "", fmt.Errorf("%q must be in quotes and brackets, as in [\"NAME\"]", name)
	}
	return patternElement{kind: Field, name: orderfile.ParseNamePattern(name)}, rest, nil
}

// parseBrackets parses an element in brackets, without the first one.
func parseBrackets(text string) (e patternElement, rest string, err error) {
	name, rest, err := parseWord(text)
	if err != nil {
		return e, "", err
	}
	isQuoted := strings.HasPrefix(text, `"`)
	switch {
	case strings.HasPrefix(rest, "="):
		value, after, err := parseWord(rest[1:])
		if err != nil {
			return e, "", err
		}
		e = patternElement{kind: Key, name: orderfile.ParseNamePattern(name), value: orderfile.ParseNamePattern(value)}
		if name == "" {
			e.kind = Value
		}
		rest = after
	case isQuoted:
		e = patternElement{kind: Field, name: orderfile.ParseNamePattern(name)}
	case name == "*":
		e = patternElement{anyItem: true}
	default:
		e.kind = Index
		if e.index, err = strconv.Atoi(name); err != nil || e.index < 0 {
			return e, "", fmt.Errorf("[%s] must be [*], an index, a field and its value ([name=app]), or a name in quotes ([\"NAME\"])", name)
		}
	}
	if !strings.HasPrefix(rest, "]") {
		return e, "", errors.New("has a [ without ]")
	}
	rest = rest[1:]
	if rest != "" && rest[0] != '.' && rest[0] != '[' {
		return e, "", fmt.Errorf("has %q after a ] instead of a dot", rest)
	}
	return e, rest, nil
}

// parseWord parses a text in brackets, up to = or ], which can be in quotes.
func parseWord(text string) (word, rest string, err error) {
	if strings.HasPrefix(text, `"`) {
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			return "", "", errors.New("has a quote that is not closed")
		}
		word, err = strconv.Unquote(quoted)
		return word, text[len(quoted):], err
	}
	end := strings.IndexAny(text, "=]")
	if end < 0 {
		return "", "", errors.New("has a [ without ]")
	}
	return text[:end], text[end:], nil
}

// Matches reports whether the pattern selects the field at path.
//
// If the rest of the pattern does not match, the last ** takes one element more, as in order files.
// So the time is at most proportional to the product of the lengths.
func (p Pattern) Matches(path Path) bool {
	i, retry, retryAt := 0, -1, 0
	for j := 0; i < len(p.elements); {
		switch {
		case p.elements[i].any:
			i++
			retry, retryAt = i, j
		case j < len(path) && p.elements[i].matches(path[j]):
			i++
			j++
		case retry >= 0 && retryAt < len(path):
			retryAt++
			i, j = retry, retryAt
		default:
			return false
		}
	}
	return true
}

func (e patternElement) matches(of Element) bool {
	switch {
	case e.anyItem:
		return of.Kind != Field
	case e.kind != of.Kind:
		return false
	}
	switch e.kind {
	case Key:
		return e.name.Matches(of.Name) && e.value.Matches(fmt.Sprint(of.Value))
	case Value:
		return e.value.Matches(fmt.Sprint(of.Value))
	case Index:
		return e.index == of.Index
	case Field:
	}
	return e.name.Matches(of.Name)
}
