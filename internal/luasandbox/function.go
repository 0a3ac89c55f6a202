// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package luasandbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	lua "github.com/yuin/gopher-lua"
)

// GoFunction is a function that scripts can call. Its arguments are nil, bool, int64, float64,
// string, map[string]any, []any or *Function. Its results are Go values as described at Value.
// An error becomes an error in the script. The context ends when the script must end.
type GoFunction func(ctx context.Context, arguments []any) ([]any, error)

// Function is a function of a script. It can be called with State.Call.
type Function struct {
	state *State
	lua   *lua.LFunction
}

// newFunction returns a function for Go, which keeps it reachable.
func (s *State) newFunction(function *lua.LFunction) *Function {
	s.functions[function] = struct{}{}
	return &Function{s, function}
}

// Position returns the file and line where the function is defined, or "" and 0 if the function
// is a Go function.
func (f *Function) Position() (file string, line int) {
	if f.lua.Proto == nil {
		return "", 0
	}
	return f.lua.Proto.SourceName, f.lua.Proto.LineDefined
}

// Register makes functions available to scripts, in a global table with this name. Functions in
// a table that exists already are added to it.
func (s *State) Register(table string, functions map[string]GoFunction) error {
	release, err := s.acquire()
	if err != nil {
		return err
	}
	defer release()
	s.register(table, functions)
	return nil
}

func (s *State) register(name string, functions map[string]GoFunction) {
	table := s.libraries.Table(name)
	for _, key := range slices.Sorted(maps.Keys(functions)) {
		table.RawSetString(key, s.lua.NewFunction(s.wrap(functions[key])))
	}
}

// wrap returns a function of the interpreter that calls a Go function.
func (s *State) wrap(function GoFunction) lua.LGFunction {
	return func(l *lua.LState) int {
		c := s.newConverter(s.guard)
		arguments := make([]any, l.GetTop())
		for i := range arguments {
			value, err := c.toGo(l.Get(i + 1))
			if err != nil {
				l.ArgError(i+1, err.Error())
			}
			arguments[i] = value
		}
		results, err := function(s.guard.Context, arguments)
		s.must(err)
		for _, result := range results {
			value, err := s.NewValue(result)
			s.must(err)
			l.Push(value.lua)
		}
		return len(results)
	}
}

// must raises an error in the script if err is not nil.
func (s *State) must(err error) {
	if err == nil {
		return
	}
	if s.guard == nil {
		panic(fmt.Errorf("no call is running: %w", err))
	}
	if s.guard.noteStop(); s.guard.Err() == nil {
		s.cause = err
	}
	s.lua.RaiseError("%s", safeMessage(err.Error()))
}

// errNotConfigured is returned by functions whose implementation the caller has not provided.
var errNotConfigured = errors.New("not available here")
