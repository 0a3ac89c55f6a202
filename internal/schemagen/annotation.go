// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package schemagen

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ordered-helm/helm/internal/yamledit"
)

// keyword is a keyword of JSON Schema with its value.
type keyword struct {
	name  string
	value *yaml.Node
}

// annotation is what a comment says about a value.
type annotation struct {
	keywords []keyword
	// required is true if the value must be set. hidden is true if the schema does not mention
	// the value, and skipProperties if it does not mention the entries of the value.
	// mergeProperties is true if one schema describes all entries of the value.
	required, hidden, skipProperties, mergeProperties bool
}

// declares reports whether a has a keyword.
func (a *annotation) declares(name string) bool {
	return slices.ContainsFunc(a.keywords, func(k keyword) bool { return k.name == name })
}

// add adds what another comment about the same value says.
func (a *annotation) add(other *annotation) {
	a.keywords = append(a.keywords, other.keywords...)
	a.required, a.hidden = a.required || other.required, a.hidden || other.hidden
	a.skipProperties, a.mergeProperties = a.skipProperties || other.skipProperties, a.mergeProperties || other.mergeProperties
}

var (
	// textKeywords are the keywords whose value is text, which need not be quoted.
	textKeywords = []string{"$ref", "description", "format", "pattern", "title"}
	// flags are the keywords that mean true if they have no value.
	flags = []string{"deprecated", "hidden", "mergeProperties", "readOnly", "required", "skipProperties", "unevaluatedProperties", "uniqueItems"}
	// listKeywords are the keywords whose value is a list, around which brackets can be omitted.
	listKeywords = []string{"enum", "examples", "item", "itemEnum", "type"}
	// describing are the keywords that do not restrict a value.
	describing = []string{"default", "deprecated", "description", "examples", "readOnly", "title"}
	// otherKeywords are the other keywords that have the same name as in JSON Schema.
	otherKeywords = []string{
		"additionalProperties", "allOf", "anyOf", "const", "default", "enum", "examples", "exclusiveMaximum", "exclusiveMinimum",
		"items", "maxItems", "maxLength", "maxProperties", "maximum", "minItems", "minLength", "minProperties", "minimum", "multipleOf",
		"not", "oneOf", "patternProperties", "properties", "type",
	}
	// itemKeywords maps the keywords for the items of a list to those of JSON Schema.
	itemKeywords = map[string]string{"item": "type", "itemEnum": "enum", "itemProperties": "properties", "itemRef": "$ref"}
)

// parseAnnotation parses the text after @schema, such as "type:[string, null]; minimum:1".
func parseAnnotation(text string) (*annotation, error) {
	a := &annotation{}
	var items []*yaml.Node
	for text = strings.TrimSpace(text); text != ""; {
		name, value, rest, err := cutKeyword(text)
		if err != nil {
			return nil, err
		}
		text = rest
		if name == "" && value == "" || name == "$id" { // a schema is known by its place
			continue
		}
		n, err := keywordValue(name, value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		switch item := itemKeywords[name]; {
		case item != "":
			items = append(items, textNode(item), n)
		case slices.Contains([]string{"required", "hidden", "skipProperties", "mergeProperties"}, name):
			a.setFlag(name, n.Value == "true")
		case limit.MatchString(name) && n.ShortTag() == "!!null": // there is no limit
		default:
			a.keywords = append(a.keywords, keyword{name, n})
		}
	}
	if len(items) > 0 {
		a.keywords = append(a.keywords, keyword{"items", mappingNode(items...)})
	}
	if err := a.check(); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *annotation) setFlag(name string, value bool) {
	switch name {
	case "required":
		a.required = value
	case "hidden":
		a.hidden = value
	case "skipProperties":
		a.skipProperties = value
	case "mergeProperties":
		a.mergeProperties = value
	}
}

// limit matches the keywords that limit a value.
var limit = regexp.MustCompile(`^(max|min|multipleOf)`)

// cutKeyword returns the first keyword in text with its value, and the text after it. The value
// ends at a semicolon that is neither in quotes nor in brackets.
func cutKeyword(text string) (name, value, rest string, err error) {
	end := strings.IndexAny(text, ":;")
	if end < 0 {
		return strings.TrimSpace(text), "", "", nil
	}
	name = strings.TrimSpace(text[:end])
	if text[end] == ';' {
		return name, "", strings.TrimSpace(text[end+1:]), nil
	}
	text = strings.TrimSpace(text[end+1:])
	if value, after, _ := strings.Cut(text, ";"); isText(name) && !isQuoted(text) {
		return name, strings.TrimSpace(value), strings.TrimSpace(after), nil
	}
	length, ok := valueEnd(text)
	if !ok {
		return "", "", "", fmt.Errorf("%s: a quote or bracket is not closed", name)
	}
	after, ends := strings.CutPrefix(strings.TrimSpace(text[length:]), ";")
	if !ends && after != "" {
		return "", "", "", fmt.Errorf("%s: unexpected %q: separate keywords with semicolons", name, after)
	}
	return name, strings.TrimSpace(text[:length]), strings.TrimSpace(after), nil
}

// isText reports whether the value of a keyword is text.
func isText(name string) bool {
	return slices.Contains(textKeywords, name) || itemKeywords[name] == "$ref"
}

// isQuoted reports whether text starts with a value in quotes that ends at a semicolon, or at the
// end of text.
func isQuoted(text string) bool {
	if !strings.HasPrefix(text, `"`) && !strings.HasPrefix(text, "'") {
		return false
	}
	length, ok := valueEnd(text)
	after := strings.TrimSpace(text[length:])
	return ok && (after == "" || after[0] == ';')
}

// valueEnd returns the length of the value at the start of text. It returns false if a quote or
// bracket is not closed.
func valueEnd(text string) (int, bool) {
	if text == "" || !strings.ContainsRune(`"'[{`, rune(text[0])) {
		if end := strings.IndexByte(text, ';'); end >= 0 {
			return end, true
		}
		return len(text), true
	}
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case '"', '\'':
			length := strings.IndexByte(text[i+1:], c)
			if length < 0 {
				return 0, false
			}
			i += length + 1
		}
		if depth <= 0 {
			return i + 1, true
		}
	}
	return 0, false
}

// keywordValue returns the value of a keyword. An error does not name the keyword.
func keywordValue(name, value string) (*yaml.Node, error) {
	isFlag := slices.Contains(flags, name)
	known := isFlag || itemKeywords[name] != "" || slices.Contains(textKeywords, name) || slices.Contains(otherKeywords, name)
	switch {
	case !known:
		return nil, errors.New("unknown keyword")
	case (isFlag || name == "additionalProperties") && value == "":
		value = "true"
	case value == "":
		return nil, errors.New("has no value")
	}
	isType := name == "type" || itemKeywords[name] == "type"
	switch {
	case isText(name) && !isQuoted(value):
		return textNode(value), nil
	case slices.Contains(listKeywords, name) && value[0] != '[' && (!isType || strings.Contains(value, ",")):
		value = "[" + value + "]"
	}
	n, err := yamledit.Parse(value)
	switch {
	case err != nil || n == nil:
		return nil, fmt.Errorf("%q is not YAML", value)
	case isFlag && n.ShortTag() != "!!bool":
		return nil, errors.New("must be true or false")
	case depthOf(n) > 100:
		return nil, errors.New("is nested too deeply")
	}
	if isType { // null is the name of a type
		for _, t := range append(slices.Clone(n.Content), n) {
			if t.Kind == yaml.ScalarNode {
				t.Tag, t.Style = "!!str", 0
			}
		}
	}
	clearPlace(n)
	return n, nil
}

func depthOf(n *yaml.Node) int {
	deepest := 0
	for _, c := range n.Content {
		deepest = max(deepest, depthOf(c))
	}
	return deepest + 1
}

// clearPlace removes the comments and places of a node, which belong to another document.
func clearPlace(n *yaml.Node) {
	n.Line, n.Column = 0, 0
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	for _, c := range n.Content {
		clearPlace(c)
	}
}

func textNode(value string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(value)
	return n
}

func mappingNode(content ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: content}
}
