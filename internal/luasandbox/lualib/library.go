// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package lualib contains the libraries of Lua that need no permission: the base library
// without functions that load code, string, table and math, and json, yaml and semver. No call
// of their functions can allocate or burn without bound.
package lualib

import (
	"math/rand/v2"

	lua "github.com/yuin/gopher-lua"
)

// MaxDepth is the maximum depth of nested tables that are encoded or decoded. A table that
// contains itself exceeds it.
const MaxDepth = 100

// Host bounds the running call.
type Host interface {
	// Check returns why the call must end, or nil. Functions that take long call it again and
	// again.
	Check() error
	// Charge is called before size bytes are allocated, and returns why the call must end, or nil.
	Charge(size int) error
	// Output counts size bytes of output, and returns why the call must end, or nil.
	Output(size int) error
	// Stopped returns why the call must end, or nil.
	Stopped() error
	// Must raises an error in the script if err is not nil.
	Must(err error)
	// ToGo converts a value to nil, a bool, int64, float64, string, map[string]any or []any.
	// budget is the maximum size of its strings and tables in bytes.
	ToGo(value lua.LValue, budget int) (any, error)
}

// Options configures the libraries.
type Options struct {
	Host Host
	// Log and Print receive the output of log and println line by line, without control
	// characters. They can be nil.
	Log, Print func(line string)
	// MaxString is the maximum length of a string in bytes. If it is not positive, there is none.
	MaxString int
}

// Library contains the libraries of a state of the interpreter.
type Library struct {
	// Null is json.null, which stands for null in lists.
	Null *lua.LUserData
	// EmptyList is the metatable of empty lists, which scripts cannot see. Other empty tables
	// are encoded as maps.
	EmptyList *lua.LTable

	lua        *lua.LState
	host       Host
	log, print func(line string)
	maxString  int
	random     *rand.Rand
}

// Open makes the libraries available to the scripts of a state.
func Open(state *lua.LState, options Options) *Library {
	s := &Library{
		Null:      &lua.LUserData{Metatable: lua.LNil},
		EmptyList: state.NewTable(),
		lua:       state,
		host:      options.Host,
		log:       options.Log,
		print:     options.Print,
		maxString: options.MaxString,
		// Scripts must have the same result each time they run.
		random: newRandom(1),
	}
	s.openBase()
	s.openString()
	s.openTable()
	s.openMath()
	s.openEncodings()
	s.openSemver()
	return s
}

// Table returns the global table with this name, and creates it if necessary.
func (s *Library) Table(name string) *lua.LTable {
	table, exists := s.lua.GetGlobal(name).(*lua.LTable)
	if !exists {
		table = s.lua.NewTable()
		s.lua.SetGlobal(name, table)
	}
	return table
}

// Filler fills tables when a script first looks at them.
type Filler interface {
	// Fill fills a table and removes its metatable.
	Fill(table *lua.LTable)
}

// fillerField is the field of a metatable that contains a Filler.
const fillerField = "(filler)"

// SetFiller sets the Filler of the tables with this metatable. The metatable must have the
// metamethods __index, __newindex and __len, which call the Filler.
func SetFiller(metatable *lua.LTable, filler Filler) {
	metatable.RawSetString(fillerField, &lua.LUserData{Value: filler, Metatable: lua.LNil})
}

// FillerOf returns the Filler of a table that is not filled, or nil.
func FillerOf(table *lua.LTable) Filler {
	metatable, ok := table.Metatable.(*lua.LTable)
	if !ok {
		return nil
	}
	data, ok := metatable.RawGetString(fillerField).(*lua.LUserData)
	if !ok {
		return nil
	}
	filler, _ := data.Value.(Filler)
	return filler
}

// FillTable fills a table if necessary. Library functions call it before they use a table
// directly.
func FillTable(table *lua.LTable) {
	if filler := FillerOf(table); filler != nil {
		filler.Fill(table)
	}
}
