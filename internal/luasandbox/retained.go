// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package luasandbox

import (
	"sync"
	"unsafe"

	lua "github.com/yuin/gopher-lua"
)

// Group is a set of states that share their limit of memory: what the scripts of one state keep
// between calls reduces what those of the others can allocate.
type Group struct {
	mu     sync.Mutex
	states map[*State]struct{}
}

// NewGroup returns a group without states.
func NewGroup() *Group { return &Group{states: map[*State]struct{}{}} }

func (g *Group) add(s *State) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.states[s] = struct{}{}
}

func (g *Group) remove(s *State) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.states, s)
}

// retained returns the number of bytes that the scripts of the group's states keep between
// calls. The caller has acquired the state running.
func (g *Group) retained(running *State) uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	total := running.retained()
	for s := range g.states {
		if s == running || !s.mu.TryLock() {
			continue
		}
		total += s.retained()
		s.mu.Unlock()
	}
	return total
}

// retained returns about how many bytes the variables and functions of the scripts need.
func (s *State) retained() uint64 {
	w := &walker{seen: map[any]struct{}{}}
	w.visit(s.lua.G.Global)
	for function := range s.functions {
		w.visit(function)
	}
	for len(w.queue) > 0 {
		next := w.queue[len(w.queue)-1]
		w.queue = w.queue[:len(w.queue)-1]
		w.walk(next)
	}
	return w.bytes
}

// walker adds the sizes of values.
type walker struct {
	seen  map[any]struct{}
	queue []lua.LValue
	bytes uint64
}

const (
	// tableBytes, entryBytes and functionBytes are about the sizes of a table, of an entry of a
	// table and of a function in bytes.
	tableBytes, entryBytes, functionBytes = 150, 100, 100
	// codeBytes and instructionBytes are about the sizes of the code of a function, and of an
	// instruction in it.
	codeBytes, instructionBytes = 4000, 12
)

// visit counts a value. Its elements are counted later.
func (w *walker) visit(value lua.LValue) {
	var identity any
	switch v := value.(type) {
	case lua.LString:
		identity = unsafe.StringData(string(v))
		if _, seen := w.seen[identity]; !seen {
			w.bytes += uint64(len(v))
		}
	case *lua.LTable, *lua.LFunction, *lua.LUserData:
		identity = v
		if _, seen := w.seen[identity]; !seen {
			w.queue = append(w.queue, v)
		}
	default:
		return
	}
	w.seen[identity] = struct{}{}
}

// visitCode counts the code of a function and of the functions in it. It can be nil.
func (w *walker) visitCode(code *lua.FunctionProto) {
	if _, seen := w.seen[code]; seen || code == nil {
		return
	}
	w.seen[code] = struct{}{}
	w.bytes += codeBytes + instructionBytes*uint64(cap(code.Code))
	for _, nested := range code.FunctionPrototypes {
		w.visitCode(nested)
	}
}

// walk counts the elements of a value.
func (w *walker) walk(value lua.LValue) {
	switch v := value.(type) {
	case *lua.LTable:
		w.bytes += tableBytes
		w.visit(v.Metatable)
		v.ForEach(func(key, item lua.LValue) {
			w.bytes += entryBytes
			w.visit(key)
			w.visit(item)
		})
	case *lua.LFunction:
		w.bytes += functionBytes
		w.visitCode(v.Proto)
		for _, upvalue := range v.Upvalues {
			w.visit(upvalue.Value())
		}
	case *lua.LUserData:
		w.visit(v.Metatable)
		if view, ok := v.Value.(*view); ok {
			w.bytes += uint64(len(view.tables)) * tableBytes
		}
	}
}
