// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releasestorage

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// unknownFields contains those fields of a JSON value that the Go type into which it is decoded
// does not have, and that are therefore lost if the decoded value is encoded again.
type unknownFields struct {
	// own contains the unknown fields of an object, by name.
	own map[string]json.RawMessage
	// nested contains the unknown fields of the values in an object, by field name, or of the
	// elements of an array, by elementNames. Values without unknown fields are omitted.
	nested map[string]*unknownFields
}

// findUnknownFields returns the fields of the JSON value data that the type t does not have; nil
// if there are none.
func findUnknownFields(data json.RawMessage, t reflect.Type) (*unknownFields, error) {
	t = withoutPointer(t)
	found := &unknownFields{own: map[string]json.RawMessage{}, nested: map[string]*unknownFields{}}
	var err error
	switch {
	case isStruct(t):
		err = found.addObject(data, t)
	case isSliceOfStructs(t):
		err = found.addArray(data, withoutPointer(t.Elem()))
	}
	if err != nil || len(found.own)+len(found.nested) == 0 {
		return nil, err
	}
	return found, nil
}

// addObject adds the unknown fields of an object that is decoded into the struct type t.
func (u *unknownFields) addObject(data json.RawMessage, t reflect.Type) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err != nil {
		return err
	}
	for name, value := range object {
		field := jsonField(t, name)
		if field == nil {
			u.own[name] = value
		} else if err := u.addNested(name, value, field); err != nil {
			return err
		}
	}
	return nil
}

// addArray adds the unknown fields of the elements of an array, which are decoded into the
// struct type t.
func (u *unknownFields) addArray(data json.RawMessage, t reflect.Type) error {
	var elements []json.RawMessage
	if err := json.Unmarshal(data, &elements); err != nil {
		return err
	}
	for i, name := range elementNames(elements, t) {
		if err := u.addNested(name, elements[i], t); err != nil {
			return err
		}
	}
	return nil
}

func (u *unknownFields) addNested(name string, value json.RawMessage, t reflect.Type) error {
	found, err := findUnknownFields(value, t)
	if found != nil {
		u.nested[name] = found
	}
	return err
}

// addTo returns the JSON value data, which was encoded from a value of type t, with the unknown
// fields. Unknown fields of objects that data does not contain are omitted, and fields that data
// contains stay as they are.
func (u *unknownFields) addTo(data json.RawMessage, t reflect.Type) (json.RawMessage, error) {
	if t = withoutPointer(t); isStruct(t) {
		return u.addToObject(data, t)
	}
	return u.addToArray(data, withoutPointer(t.Elem()))
}

func (u *unknownFields) addToObject(data json.RawMessage, t reflect.Type) (json.RawMessage, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err != nil || object == nil {
		return data, err
	}
	for name, value := range u.own {
		if _, exists := object[name]; !exists {
			object[name] = value
		}
	}
	for name, unknown := range u.nested {
		value, exists := object[name]
		if !exists {
			continue
		}
		var err error
		if object[name], err = unknown.addTo(value, jsonField(t, name)); err != nil {
			return nil, err
		}
	}
	return json.Marshal(object)
}

func (u *unknownFields) addToArray(data json.RawMessage, t reflect.Type) (json.RawMessage, error) {
	var elements []json.RawMessage
	if err := json.Unmarshal(data, &elements); err != nil || elements == nil {
		return data, err
	}
	for i, name := range elementNames(elements, t) {
		unknown, exists := u.nested[name]
		if !exists {
			continue
		}
		var err error
		if elements[i], err = unknown.addTo(elements[i], t); err != nil {
			return nil, err
		}
	}
	return json.Marshal(elements)
}

// elementNames returns a unique name for each element of an array, which is decoded into the
// struct type t. It identifies the element even if elements are added to the array or removed
// from it: the order record, for example, is one of the files of a stored chart.
func elementNames(elements []json.RawMessage, t reflect.Type) []string {
	names, seen := make([]string, len(elements)), map[string]int{}
	for i, element := range elements {
		name := elementName(element, t)
		names[i] = fmt.Sprintf("%s #%d", name, seen[name])
		seen[name]++
	}
	return names
}

// elementName returns the values of those fields that identify files, hooks, dependencies and
// maintainers. An element that cannot be decoded has no name.
func elementName(element json.RawMessage, t reflect.Type) string {
	decoded := reflect.New(t)
	if err := json.Unmarshal(element, decoded.Interface()); err != nil {
		return ""
	}
	var parts []string
	for _, field := range []string{"Kind", "Path", "Name", "Alias"} {
		if value := decoded.Elem().FieldByName(field); value.IsValid() && value.Kind() == reflect.String {
			parts = append(parts, value.String())
		}
	}
	return strings.Join(parts, "\x00")
}

// jsonField returns the type of the field of the struct type t into which encoding/json decodes
// a field with this name; nil if there is none. Like encoding/json, it ignores case.
func jsonField(t reflect.Type, name string) reflect.Type {
	for i := range t.NumField() {
		field := t.Field(i)
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if tag == "" {
			tag = field.Name
		}
		if field.IsExported() && tag != "-" && strings.EqualFold(tag, name) {
			return field.Type
		}
	}
	return nil
}

func withoutPointer(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// isStruct reports whether t is a struct type that encoding/json decodes field by field.
func isStruct(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && !reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

func isSliceOfStructs(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && isStruct(withoutPointer(t.Elem()))
}
