// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package luaio

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// Process contains what a script has if it is a program: arguments in the table arg and in ...,
// io.stdin, io.stdout, io.stderr, io.read, io.write, io.lines without a name, print, println, and os.exit.
type Process struct {
	// Arguments contains the arguments of the program.
	Arguments []string
	// Stdin, Stdout and Stderr are the standard streams. A read from Stdin that waits for data
	// must end when the context of the call ends.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// ExitError is the reason for which a script is stopped that calls os.exit with a code other
// than 0. No script can catch it.
type ExitError struct {
	// Code is the exit code.
	Code int
}

func (e *ExitError) Error() string { return fmt.Sprintf("exit code %d", e.Code) }

// ErrExited is the reason for which a script is stopped that calls os.exit without a code.
var ErrExited = errors.New("exit code 0")

// OpenProcess makes the functions of Process available. OpenFiles must have been called.
func (s *IO) OpenProcess(p *Process) {
	stdin := s.fileData(&file{Closer: io.NopCloser(nil), reader: bufio.NewReader(p.Stdin)})
	stdout := s.fileData(&file{Closer: io.NopCloser(nil), writer: p.Stdout})
	library := s.libraries.Table("io")
	library.RawSetString("stdin", stdin)
	library.RawSetString("stdout", stdout)
	library.RawSetString("stderr", s.fileData(&file{Closer: io.NopCloser(nil), writer: p.Stderr}))
	linesOf, _ := library.RawGetString("lines").(*lua.LFunction)
	s.libraries.SetFunctions(library, map[string]lua.LGFunction{
		"read":  func(l *lua.LState) int { return s.fileRead(withFile(l, stdin)) },
		"write": func(l *lua.LState) int { return s.fileWrite(withFile(l, stdout)) },
		"lines": func(l *lua.LState) int {
			if l.GetTop() > 0 && linesOf != nil {
				return linesOf.GFunction(l)
			}
			return s.fileLines(withFile(l, stdin), false)
		},
	})
	printLine := s.lua.NewFunction(func(l *lua.LState) int {
		words := make([]string, l.GetTop())
		for i := range words {
			words[i] = lua.LVAsString(l.ToStringMeta(l.Get(i + 1)))
		}
		_, err := io.WriteString(p.Stdout, strings.Join(words, "\t")+"\n")
		s.host.Must(err)
		return 0
	})
	s.lua.SetGlobal("print", printLine)
	s.lua.SetGlobal("println", printLine)
	s.libraries.Table("os").RawSetString("exit", s.lua.NewFunction(s.exit))
}

// withFile inserts a file before the arguments of a function.
func withFile(l *lua.LState, f *lua.LUserData) *lua.LState {
	l.Insert(f, 1)
	return l
}

// exit stops the script. Its argument is the exit code, or whether the program has succeeded.
func (s *IO) exit(l *lua.LState) int {
	code := 0
	switch value := l.Get(1).(type) {
	case *lua.LNilType:
	case lua.LBool:
		if !bool(value) {
			code = 1
		}
	default:
		code = l.CheckInt(1)
	}
	if code == 0 {
		s.host.Stop(ErrExited)
	} else {
		s.host.Stop(&ExitError{code})
	}
	s.host.Must(s.host.Check())
	return 0
}

// SetArguments sets the table arg for a script, and returns its arguments.
func (s *IO) SetArguments(file string, arguments []string) []lua.LValue {
	table := s.lua.NewTable()
	table.RawSetInt(0, lua.LString(file))
	values := make([]lua.LValue, len(arguments))
	for i, argument := range arguments {
		values[i] = lua.LString(argument)
		table.RawSetInt(i+1, values[i])
	}
	s.lua.SetGlobal("arg", table)
	return values
}
