// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ordered-helm/helm/internal/externalneed"
	"github.com/ordered-helm/helm/internal/text"
)

// maxNameLength limits the length of the name of a layer, in characters.
const maxNameLength = 63

// ValueError reports an invalid annotation. It does not name the file and the resource,
// which callers add.
type ValueError struct {
	// Key is the key as the author wrote it.
	Key string
	// Value is the value as the author wrote it.
	Value any
	// Reason says what is wrong and, if possible, how to correct it.
	Reason string
	// Kind classifies the error.
	Kind ErrorKind
}

// ErrorKind classifies an error in an annotation, so that helm lint can assign it to a rule.
type ErrorKind string

const (
	// InvalidValue is a value of the wrong type or form.
	InvalidValue ErrorKind = ""
	// InvalidLayerName is a string that cannot be the name of a layer.
	InvalidLayerName ErrorKind = "layer name"
	// InvalidExpression is an invalid readiness expression.
	InvalidExpression ErrorKind = "expression"
	// InvalidExternal is a string that does not name an external dependency.
	InvalidExternal ErrorKind = "external dependency"
	// InvalidDuration is an invalid duration.
	InvalidDuration ErrorKind = "duration"
	// Conflict is a value that contradicts the value of an alternative key.
	Conflict ErrorKind = "conflict"
	// UnknownKey is an unknown key that resembles a sequencing annotation.
	UnknownKey ErrorKind = "unknown key"
	// Misplaced is a key that has no effect in the place where it is.
	Misplaced ErrorKind = "misplaced"
)

func (e *ValueError) Error() string {
	return fmt.Sprintf("%s: %s: %s", e.Key, formatValue(e.Value), e.Reason)
}

// formatValue returns the value of an annotation as text for a message.
func formatValue(value any) string {
	if w, ok := value.(rawScalar); ok {
		return string(w)
	}
	written, err := text.JSON(value)
	if err != nil {
		return fmt.Sprintf("%v", value)
	}
	return truncate(written)
}

// truncate shortens a long text for a message.
func truncate(text string) string {
	const maxBytes = 200
	if len(text) > maxBytes {
		return strings.ToValidUTF8(text[:maxBytes], "") + "…"
	}
	return text
}

func newValueError(key string, value any, format string, args ...any) error {
	return newErrorOfKind(InvalidValue, key, value, format, args...)
}

func newErrorOfKind(kind ErrorKind, key string, value any, format string, args ...any) error {
	return &ValueError{Key: key, Value: value, Reason: fmt.Sprintf(format, args...), Kind: kind}
}

// ReadItems returns the items of a list. value is a YAML list, a JSON list in a string, or
// any other string, which is a list of one item. Spaces around items, empty items and
// duplicates are removed. If value is nil, the list is empty. key is only for errors.
func ReadItems(key string, value any) ([]string, error) {
	raw, err := decodeItems(key, value)
	if err != nil {
		return nil, err
	}
	return normalize(raw), nil
}

func decodeItems(key string, value any) ([]string, error) {
	switch v := value.(type) {
	case nil:
		return nil, nil
	case string:
		if strings.HasPrefix(strings.TrimSpace(v), "[") {
			return decodeJSONItems(key, v)
		}
		return []string{v}, nil
	case []any:
		return itemStrings(key, value, v)
	case []string:
		return v, nil
	case map[string]any, map[any]any:
		return nil, newValueError(key, value, "must be a list of strings, not a map")
	}
	return nil, newValueError(key, value, "must be a list of strings, not a number or boolean: quote the value")
}

func decodeJSONItems(key, text string) ([]string, error) {
	var list []any
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, newValueError(key, text, `a value that begins with "[" must be a JSON list of strings, such as ["a","b"]: %v`, err)
	}
	return itemStrings(key, text, list)
}

func itemStrings(key string, value any, list []any) ([]string, error) {
	items := make([]string, 0, len(list))
	for _, item := range list {
		switch s := item.(type) {
		case string:
			items = append(items, s)
		case nil:
		case []any:
			return nil, newValueError(key, value, "must be a list of strings, not a list of lists")
		default:
			return nil, newValueError(key, value, "item %s must be a string: quote it", formatValue(item))
		}
	}
	return items, nil
}

func normalize(raw []string) []string {
	var items []string
	seen := make(map[string]bool, len(raw))
	for _, item := range raw {
		item = strings.TrimSpace(item)
		if item != "" && !seen[item] {
			seen[item] = true
			items = append(items, item)
		}
	}
	return items
}

// ReadNames reads a list of names. It is like ReadItems, but also splits items at commas.
func ReadNames(key string, value any) ([]string, error) {
	items, err := decodeItems(key, value)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, item := range items {
		names = append(names, strings.Split(item, ",")...)
	}
	return normalize(names), nil
}

// ReadExternal reads a list of external dependencies, separated like the names that ReadNames
// reads. It returns them in the canonical form of package externalneed.
func ReadExternal(key string, value any) ([]string, error) {
	names, err := ReadNames(key, value)
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		need, err := externalneed.Parse(name)
		if problem, ok := errors.AsType[*externalneed.ParseError](err); ok {
			return nil, newErrorOfKind(InvalidExternal, key, value, "%q: %s", name, problem.Reason)
		}
		names[i] = need.String()
	}
	return names, nil
}

// ReadLayerNames reads a list of names of layers, as ReadNames does, and checks each name. The
// error is a *ValueError.
func ReadLayerNames(key string, value any) ([]string, error) {
	names, err := ReadNames(key, value)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if reason := layerNameProblem(name); reason != "" {
			return nil, newErrorOfKind(InvalidLayerName, key, value, "%q %s", name, reason)
		}
	}
	return names, nil
}

// ReadLayerName reads and checks the name of one layer. The result is empty if value is
// nil or empty. key is only for errors, which are of type *ValueError.
func ReadLayerName(key string, value any) (string, error) {
	switch v := value.(type) {
	case nil:
		return "", nil
	case string:
		name := strings.TrimSpace(v)
		if strings.ContainsRune(name, ',') || strings.HasPrefix(name, "[") {
			return "", newErrorOfKind(InvalidLayerName, key, value, "a resource belongs to one layer: give one name, without commas")
		}
		if reason := layerNameProblem(name); reason != "" {
			return "", newErrorOfKind(InvalidLayerName, key, value, "the name of a layer %s", reason)
		}
		return name, nil
	case []any:
		return "", newValueError(key, value, "a resource belongs to one layer: give one name, not a list")
	case map[string]any, map[any]any:
		return "", newValueError(key, value, "the name of a layer must be a string, not a map")
	}
	return "", newValueError(key, value, "the name of a layer must be a string, not a number or boolean: quote it")
}

// layerNameProblem returns what is wrong with the name of a layer, or an empty string if
// it is valid.
func layerNameProblem(name string) string {
	if utf8.RuneCountInString(name) > maxNameLength {
		return fmt.Sprintf("must not be longer than %d characters", maxNameLength)
	}
	for _, r := range name {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			return "must not contain whitespace or control characters"
		}
		if r == ',' {
			return "must not contain a comma"
		}
	}
	return ""
}

// ReadDuration reads a positive duration in Go's notation, for example "5m". It returns 0
// if value is nil or empty. key is only for errors.
func ReadDuration(key string, value any) (time.Duration, error) {
	text, ok := value.(string)
	if value == nil || ok && strings.TrimSpace(text) == "" {
		return 0, nil
	}
	if !ok {
		return 0, newErrorOfKind(InvalidDuration, key, value, `must be a duration: a quoted number with a unit, such as "30s" or "5m"`)
	}
	d, err := time.ParseDuration(strings.TrimSpace(text))
	if err != nil {
		return 0, newErrorOfKind(InvalidDuration, key, value, `must be a duration: a number with a unit, such as "30s" or "5m"`)
	}
	if d <= 0 {
		return 0, newErrorOfKind(InvalidDuration, key, value, "must be greater than 0")
	}
	return d, nil
}
