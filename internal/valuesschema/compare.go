// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package valuesschema

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// ConflictError reports that the values.schema.yaml and the values.schema.json of a chart differ.
type ConflictError struct {
	// File is the path of the values.schema.yaml, relative to the root chart. Line and Column are
	// the place of the first difference. They start at 1; 0 if they are not known.
	File         string
	Line, Column int
	// Place is the JSON pointer to the first difference in the schema; empty if it is the whole
	// schema.
	Place string
}

func (e *ConflictError) Error() string {
	place := (&Error{File: e.File, Line: e.Line}).place()
	return place + " " + e.Difference() + ": remove one of the files, or make them agree"
}

// Difference says what differs, without the place in the file.
func (e *ConflictError) Difference() string {
	if e.Place == "" {
		return "differs from " + JSONFile
	}
	return "differs from " + JSONFile + " at " + e.Place
}

// Compare returns a *ConflictError if a values.schema.json does not have the same content as the
// values.schema.yaml. Instead of references to other files, it must contain these files. If the
// YAML is not a schema, Compare returns the error of Translate.
func Compare(schema []byte, s Source) error {
	translated, err := Translate(s)
	if err != nil {
		return err
	}
	written, err := decodeJSON(schema)
	if err != nil {
		return &ConflictError{File: s.Folder + YAMLFile, Line: 1, Column: 1}
	}
	own, err := newBundle(s)
	if err != nil {
		return err
	}
	place, differs := firstDifference(withoutComment(own.root.content), withoutComment(written))
	if !differs {
		return checkReferences(s, written)
	}
	if bundled, err := decodeJSON(translated); err == nil {
		if _, differs := firstDifference(withoutComment(bundled), withoutComment(written)); !differs {
			return nil
		}
	}
	found := own.root.newError(place, "")
	return &ConflictError{File: found.File, Line: found.Line, Column: found.Column, Place: pointerTo(place)}
}

// checkReferences returns an *Error if a values.schema.json refers to other files. Helm does not
// look for them in the chart.
func checkReferences(s Source, schema any) error {
	if _, err := compile(schema, nil); err != nil {
		return &Error{File: s.Folder + JSONFile, Problem: "refers to files, which Helm would not find: remove it, and it will be generated from " + YAMLFile}
	}
	return nil
}

// withoutComment returns a schema without the comment that withComment adds.
func withoutComment(content any) any {
	schema, _ := content.(map[string]any)
	comment, _ := schema["$comment"].(string)
	switch own, isGenerated := strings.CutPrefix(comment, generated); {
	case !isGenerated:
	case own == "":
		delete(schema, "$comment")
	default:
		schema["$comment"] = strings.TrimPrefix(own, " ")
	}
	return content
}

// firstDifference returns the path of the first difference between two decoded documents.
func firstDifference(a, b any) (path []string, differs bool) {
	switch a := a.(type) {
	case map[string]any:
		b, isMapping := b.(map[string]any)
		if !isMapping {
			return nil, true
		}
		for _, key := range slices.Sorted(maps.Keys(a)) {
			if other, found := b[key]; !found {
				return []string{key}, true
			} else if path, differs := firstDifference(a[key], other); differs {
				return append([]string{key}, path...), true
			}
		}
		for _, key := range slices.Sorted(maps.Keys(b)) {
			if _, found := a[key]; !found {
				return []string{key}, true
			}
		}
		return nil, false
	case []any:
		b, isList := b.([]any)
		if !isList {
			return nil, true
		}
		for i := range max(len(a), len(b)) {
			if i >= len(a) || i >= len(b) {
				return []string{strconv.Itoa(i)}, true
			}
			if path, differs := firstDifference(a[i], b[i]); differs {
				return append([]string{strconv.Itoa(i)}, path...), true
			}
		}
		return nil, false
	case json.Number:
		b, isNumber := b.(json.Number)
		return nil, !isNumber || !sameNumber(a, b)
	}
	return nil, a != b
}

// sameNumber reports whether two numbers are equal, however they are written.
func sameNumber(a, b json.Number) bool {
	if a == b {
		return true
	}
	valueA, errA := a.Float64()
	valueB, errB := b.Float64()
	return cmp.Or(errA, errB) == nil && valueA == valueB
}
