// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package luasandbox

import (
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// maxTraceback is the maximum number of lines of a traceback.
const maxTraceback = 20

// traceback returns a line for each active function of a script, the innermost first.
func (s *State) traceback() []string {
	var lines []string
	for level := 0; len(lines) < maxTraceback; level++ {
		frame, ok := s.lua.GetStack(level)
		if !ok {
			break
		}
		if _, err := s.lua.GetInfo("nSl", frame, lua.LNil); err != nil || frame.What == "Go" || frame.What == "G" || frame.CurrentLine < 0 {
			continue
		}
		name := "function '" + frame.Name + "'"
		if strings.HasPrefix(frame.Name, "<") || frame.Name == "?" || frame.Name == "" || frame.Name == mainChunk {
			name = fmt.Sprintf("function <%s:%d>", frame.Source, frame.LineDefined)
		}
		if frame.LineDefined == 0 {
			name = mainChunk
		}
		lines = append(lines, safeMessage(fmt.Sprintf("%s:%d: in %s", frame.Source, frame.CurrentLine, name)))
	}
	return lines
}

// mainChunk is the name of the code of a script that is in no function.
const mainChunk = "main chunk"

// tracebackLines converts a traceback of the interpreter to lines, without functions in Go.
func tracebackLines(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line == "stack traceback:" || strings.HasPrefix(line, "[G]:") {
			continue
		}
		if where, name, found := strings.Cut(line, " in function <"); found && strings.HasSuffix(name, ":0>") {
			line = where + " in " + mainChunk
		}
		if where, _, found := strings.Cut(line, " in main chunk"); found {
			line = where + " in " + mainChunk
		}
		lines = append(lines, safeMessage(line))
	}
	return lines
}

// nameCalled replaces what the interpreter says about the function that Go has called, which it takes for the
// code outside of all functions.
func (e *Error) nameCalled(function *Function) {
	if len(e.Traceback) == 0 {
		return
	}
	file, line := function.Position()
	last := &e.Traceback[len(e.Traceback)-1]
	*last = strings.Replace(*last, "in main chunk", fmt.Sprintf("in function <%s:%d>", file, line), 1)
}
