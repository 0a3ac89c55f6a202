// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lualib

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	lua "github.com/yuin/gopher-lua"
	"go.yaml.in/yaml/v2"
)

// maxEncoded is the maximum size of the text that json and yaml decode, and of the value that
// they encode, in bytes.
const maxEncoded = 1 << 20

// openEncodings registers the libraries json and yaml. Both have the functions encode and
// decode, and null, which stands for null in lists.
func (s *Library) openEncodings() {
	for name, functions := range map[string]map[string]lua.LGFunction{
		"json": {"decode": s.decode(s.decodeJSON), "encode": s.encode(encodeJSON)},
		"yaml": {"decode": s.decode(s.decodeYAML), "encode": s.encode(encodeYAML)},
	} {
		table := s.Table(name)
		s.SetFunctions(table, functions)
		table.RawSetString("null", s.Null)
	}
}

// decode returns a function that decodes its argument.
func (s *Library) decode(decode func(text string) (lua.LValue, error)) lua.LGFunction {
	return func(l *lua.LState) int {
		text := l.CheckString(1)
		if len(text) > maxEncoded {
			l.RaiseError("the text has %d bytes, but can have at most %d", len(text), maxEncoded)
		}
		value, err := decode(text)
		s.host.Must(err)
		l.Push(value)
		return 1
	}
}

// encode returns a function that encodes its argument.
func (s *Library) encode(encode func(value any) ([]byte, error)) lua.LGFunction {
	return func(l *lua.LState) int {
		value, err := s.host.ToGo(l.CheckAny(1), maxEncoded)
		s.host.Must(err)
		text, err := encode(value)
		s.host.Must(err)
		s.checkLength(len(text))
		l.Push(lua.LString(text))
		return 1
	}
}

func encodeJSON(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func encodeYAML(value any) (text []byte, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("encoding YAML: %v", problem)
		}
	}()
	return yaml.Marshal(value)
}

// reader reads a text in small parts, and fails if the script must end. What is decoded grows
// with what is read.
type reader struct {
	text  *strings.Reader
	check func() error
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.check(); err != nil {
		return 0, err
	}
	return r.text.Read(p[:min(len(p), 1024)])
}

func (s *Library) decodeJSON(text string) (lua.LValue, error) {
	decoder := json.NewDecoder(&reader{strings.NewReader(text), s.host.Check})
	decoder.UseNumber()
	value, err := s.decodeJSONValue(decoder, 0)
	if err == nil {
		if _, end := decoder.Token(); !errors.Is(end, io.EOF) {
			err = errors.New("text after the value")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("invalid JSON: %w", err)
	}
	return value, nil
}

func (s *Library) decodeJSONValue(decoder *json.Decoder, depth int) (lua.LValue, error) {
	token, err := decoder.Token()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	delimiter, isDelimiter := token.(json.Delim)
	if !isDelimiter {
		return Scalar(token)
	}
	if depth == MaxDepth {
		return nil, fmt.Errorf("values are nested more than %d levels deep", MaxDepth)
	}
	table := s.lua.NewTable()
	for count := 1; decoder.More(); count++ {
		var key lua.LValue = lua.LNumber(count)
		if delimiter == '{' {
			if key, err = s.decodeJSONValue(decoder, depth+1); err != nil {
				return nil, err
			}
		}
		value, err := s.decodeJSONValue(decoder, depth+1)
		if err != nil {
			return nil, err
		}
		if err := s.addDecoded(table, key, value); err != nil {
			return nil, err
		}
	}
	if _, err := decoder.Token(); err != nil {
		return nil, err
	}
	if delimiter == '[' && table.Len() == 0 {
		table.Metatable = s.EmptyList
	}
	return table, nil
}

// addDecoded adds an element to a table. null is json.null in lists, and no element of a map.
func (s *Library) addDecoded(table *lua.LTable, key, value lua.LValue) error {
	if err := s.host.Charge(200); err != nil {
		return err
	}
	if _, inList := key.(lua.LNumber); inList && value == lua.LNil {
		value = s.Null
	}
	if number, inList := key.(lua.LNumber); inList && number > maxIndex {
		return fmt.Errorf("a list can have at most %d elements", maxIndex)
	}
	table.RawSet(key, value)
	return nil
}

func (s *Library) decodeYAML(text string) (value lua.LValue, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			value, err = nil, fmt.Errorf("invalid YAML: %v", problem)
		}
	}()
	decoder := yaml.NewDecoder(&reader{strings.NewReader(text), s.host.Check})
	var decoded any
	if err := decoder.Decode(&decoded); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("invalid YAML: %w", err)
	}
	if err := decoder.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, errors.New("invalid YAML: more than one document")
	}
	return s.yamlToLua(decoded, 0)
}

// yamlToLua converts what the YAML decoder has returned. Keys become strings.
func (s *Library) yamlToLua(value any, depth int) (lua.LValue, error) {
	if depth == MaxDepth {
		return nil, fmt.Errorf("values are nested more than %d levels deep", MaxDepth)
	}
	table := s.lua.NewTable()
	switch value := value.(type) {
	case []any:
		for i, element := range value {
			converted, err := s.yamlToLua(element, depth+1)
			if err != nil {
				return nil, err
			}
			if err := s.addDecoded(table, lua.LNumber(i+1), converted); err != nil {
				return nil, err
			}
		}
		if len(value) == 0 {
			table.Metatable = s.EmptyList
		}
	case map[any]any:
		entries := make(map[string]any, len(value))
		for key, element := range value {
			entries[fmt.Sprint(key)] = element
		}
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			converted, err := s.yamlToLua(entries[key], depth+1)
			if err != nil {
				return nil, err
			}
			if err := s.addDecoded(table, lua.LString(key), converted); err != nil {
				return nil, err
			}
		}
	default:
		return Scalar(value)
	}
	return table, nil
}

// openSemver registers the library semver.
func (s *Library) openSemver() {
	version := func(l *lua.LState, n int) *semver.Version {
		text := l.CheckString(n)
		parsed, err := semver.NewVersion(text[:min(len(text), 256)])
		if err != nil {
			l.ArgError(n, fmt.Sprintf("invalid version %.50q", text))
		}
		return parsed
	}
	s.SetFunctions(s.Table("semver"), map[string]lua.LGFunction{
		"compare": func(l *lua.LState) int {
			l.Push(lua.LNumber(version(l, 1).Compare(version(l, 2))))
			return 1
		},
		"matches": func(l *lua.LState) int {
			text := l.CheckString(1)
			constraint, err := semver.NewConstraint(text[:min(len(text), 256)])
			if err != nil {
				l.ArgError(1, fmt.Sprintf("invalid constraint %.50q", text))
			}
			l.Push(lua.LBool(constraint.Check(version(l, 2))))
			return 1
		},
		"parse": func(l *lua.LState) int {
			v := version(l, 1)
			table := l.NewTable()
			table.RawSetString("major", lua.LNumber(v.Major()))
			table.RawSetString("minor", lua.LNumber(v.Minor()))
			table.RawSetString("patch", lua.LNumber(v.Patch()))
			table.RawSetString("prerelease", lua.LString(v.Prerelease()))
			table.RawSetString("metadata", lua.LString(v.Metadata()))
			l.Push(table)
			return 1
		},
	})
}
