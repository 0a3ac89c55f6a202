// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	yamlv2 "go.yaml.in/yaml/v2"
	"sigs.k8s.io/yaml"
)

// EncodeObject encodes an object exactly as sigs.k8s.io/yaml does. parsed is what ParseYAMLObject returns for
// the text, or nil if the text must be parsed to know it.
//
// sigs.k8s.io/yaml encodes an object to JSON, parses that as YAML, and encodes it again. Together with parsing
// the text, this takes ten times as long as writing an object that is simple, and almost all objects are.
func EncodeObject(object map[string]any) (text string, parsed map[string]any, err error) {
	if len(object) > 0 {
		var e objectEncoder
		if parsed, simple := e.writeMap(object, ""); simple {
			return e.text.String(), parsed, nil
		}
	}
	encoded, err := yaml.Marshal(object)
	return string(encoded), nil, err
}

// objectEncoder writes objects that contain only maps with short keys, lists, texts of one line, integers,
// booleans and null. Each function returns a copy of the value as the text will be parsed. simple is false if
// the value contains anything else, or if it is uncertain how another encoder would write it.
type objectEncoder struct {
	text strings.Builder
}

// writeMap writes the entries of a map that is not empty. The text before the first of them, up to its indent,
// was written already.
func (e *objectEncoder) writeMap(m map[string]any, indent string) (parsed map[string]any, simple bool) {
	keys, certain := sortedKeys(m)
	if !certain {
		return nil, false
	}
	parsed = make(map[string]any, len(m))
	for i, key := range keys {
		if len(key) > maxKeyLength || key == "<<" {
			return nil, false
		}
		text, simple := encodeLine(key)
		if !simple {
			return nil, false
		}
		if i > 0 {
			e.text.WriteString(indent)
		}
		e.text.WriteString(text + ":")
		if parsed[key], simple = e.writeEntry(m[key], indent); !simple {
			return nil, false
		}
	}
	return parsed, true
}

// writeEntry writes the value of a map entry, after its colon.
func (e *objectEncoder) writeEntry(value any, indent string) (parsed any, simple bool) {
	switch value := value.(type) {
	case map[string]any:
		if len(value) > 0 {
			indent += "  "
			e.text.WriteString("\n" + indent)
			return e.writeMap(value, indent)
		}
	case []any:
		if len(value) > 0 {
			e.text.WriteString("\n" + indent)
			return e.writeList(value, indent)
		}
	}
	e.text.WriteByte(' ')
	return e.writeScalar(value)
}

// writeList is like writeMap for a list that is not empty.
func (e *objectEncoder) writeList(list []any, indent string) (parsed []any, simple bool) {
	parsed = make([]any, len(list))
	for i, item := range list {
		if i > 0 {
			e.text.WriteString(indent)
		}
		e.text.WriteString("- ")
		if parsed[i], simple = e.writeItem(item, indent+"  "); !simple {
			return nil, false
		}
	}
	return parsed, true
}

// writeItem writes an item of a list, after its dash.
func (e *objectEncoder) writeItem(item any, indent string) (parsed any, simple bool) {
	switch item := item.(type) {
	case map[string]any:
		if len(item) > 0 {
			return e.writeMap(item, indent)
		}
	case []any:
		if len(item) > 0 {
			return e.writeList(item, indent)
		}
	}
	return e.writeScalar(item)
}

// writeScalar writes a value on the rest of a line, and the end of the line.
func (e *objectEncoder) writeScalar(value any) (parsed any, simple bool) {
	parsed = value
	var text string
	switch value := value.(type) {
	case nil:
		text = "null"
	case bool:
		text = strconv.FormatBool(value)
	case int64:
		text = strconv.FormatInt(value, 10)
	case int:
		text, parsed = strconv.Itoa(value), int64(value)
	case map[string]any:
		text = "{}"
		if value == nil {
			return nil, false
		}
	case []any:
		text = "[]"
		if value == nil {
			return nil, false
		}
	case string:
		if text, simple = encodeLine(value); !simple {
			return nil, false
		}
	default:
		return nil, false
	}
	e.text.WriteString(text)
	e.text.WriteByte('\n')
	return parsed, true
}

// encodeLine encodes a text of one line.
func encodeLine(value string) (text string, simple bool) {
	if isPlainText(value) {
		return value, true
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "", false
	}
	encoded, err := yamlv2.Marshal(value)
	return strings.TrimSuffix(string(encoded), "\n"), err == nil
}

// maxKeyLength is less than the length from which YAML encoders write a key with a question mark.
const maxKeyLength = 100

// isPlainText reports whether a text is certain to be written without quotes: it begins with a letter, has
// no characters with a meaning in YAML, and is no word with a meaning.
func isPlainText(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case isLetter(c) == 1:
		case i == 0:
			return false
		case isDigit(c) || strings.IndexByte("-./_", c) >= 0:
		case c == ':' && i+1 < len(text):
		default:
			return false
		}
	}
	switch strings.ToLower(text) {
	case "", "true", "false", "yes", "no", "on", "off", "y", "n", "null":
		return false
	}
	return true
}

// sortedKeys returns the keys of a map in the order in which encoders write them: other characters come before
// letters. certain is false if digits determine the order, which encoders compare as numbers.
func sortedKeys(m map[string]any) (keys []string, certain bool) {
	keys, certain = slices.Collect(maps.Keys(m)), true
	slices.SortFunc(keys, func(a, b string) int {
		i := 0
		for i < min(len(a), len(b)) && a[i] == b[i] {
			i++
		}
		if i == min(len(a), len(b)) {
			return len(a) - len(b)
		}
		x, y := a[i], b[i]
		switch isLetter(x) - isLetter(y) {
		case 1:
			return 1
		case -1:
			return -1
		}
		certain = certain && !isDigit(x) && !isDigit(y)
		return int(x) - int(y)
	})
	return keys, certain
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isLetter returns 1 for a letter, and 0 otherwise.
func isLetter(c byte) int {
	if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' {
		return 1
	}
	return 0
}
