// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package luacompile compiles Lua scripts such that no instruction can allocate or burn without
// bound. The interpreter looks at its context between instructions only, but it concatenates
// strings of any length in one instruction, and fills an array up to any index in another. In
// the compiled code, both are calls of functions that the caller provides.
package luacompile

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
)

const (
	// maxSource is the maximum size of a script in bytes. The parser needs some hundred bytes of
	// memory for each byte of a malicious script.
	maxSource = 256 << 10
	// maxConstants is the maximum number of different strings, numbers and names in a script. The
	// compiler searches all of them for each one that it finds.
	maxConstants = 4000
	// maxFunctions is the maximum number of functions in a script. Each of them needs about 16 KiB.
	maxFunctions = 2000
	// maxDepth is the maximum depth of nested expressions and statements. The compiler is
	// recursive, and Go ends the process if its stack becomes too large.
	maxDepth = 1000
	// concatName, keyName and argumentsName are the names of the variables that contain Hooks.Concat,
	// Hooks.Key and the global arg. No script can use these names.
	concatName, keyName, argumentsName = "(concat)", "(key)", "(arg)"
)

// Hooks contains the functions that compiled code calls.
type Hooks struct {
	// Concat returns the concatenation of its arguments, as the operator .. does.
	Concat lua.LGFunction
	// Key returns its argument, the key of an assignment to a field of a table, unless it must
	// not be used.
	Key lua.LGFunction
}

// SyntaxError is an error in a script.
type SyntaxError struct {
	// Line is the line of the error, or 0 if it is not known.
	Line int
	// Message describes the error.
	Message string
}

// Error returns the message.
func (e *SyntaxError) Error() string { return e.Message }

// Compile compiles a script and returns it as a function without parameters. name is the name
// of its file in errors. An error is a *SyntaxError.
func Compile(state *lua.LState, name, source string, hooks Hooks) (*lua.LFunction, error) {
	proto, err := compile(name, source)
	if err != nil {
		return nil, err
	}
	top := state.GetTop()
	defer state.SetTop(top)
	state.Push(state.NewFunctionFromProto(proto))
	state.Push(state.NewFunction(hooks.Concat))
	state.Push(state.NewFunction(hooks.Key))
	state.Push(state.GetGlobal("arg"))
	if err := state.PCall(3, 1, nil); err != nil {
		return nil, &SyntaxError{Message: err.Error()}
	}
	function, ok := state.Get(-1).(*lua.LFunction)
	if !ok {
		return nil, &SyntaxError{Message: "the script cannot be compiled"}
	}
	return function, nil
}

// Uses returns the lines in which a script first uses variables, by name, and their fields, by "name.field".
// It does not distinguish local from global variables. An error is a *SyntaxError.
func Uses(name, source string) (map[string]int, error) {
	statements, err := parseScript(name, source)
	if err != nil {
		return nil, err
	}
	r := newRewriter()
	r.statements(statements)
	return r.uses, r.err
}

// parseScript parses a script that is not too large.
func parseScript(name, source string) (statements []ast.Stmt, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			statements, err = nil, &SyntaxError{Message: fmt.Sprint(problem)}
		}
	}()
	if len(source) > maxSource {
		return nil, &SyntaxError{Message: fmt.Sprintf("the script has %d bytes, but can have at most %d", len(source), maxSource)}
	}
	statements, err = parse.Parse(strings.NewReader(source), name)
	if err != nil {
		return nil, syntaxError(err, source)
	}
	return statements, nil
}

// compile returns a function that has the functions of Hooks and the global arg as its parameters,
// and returns the script as a function. The interpreter gives functions with "..." a local arg,
// which must not hide the global one in the script itself.
func compile(name, source string) (proto *lua.FunctionProto, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			proto, err = nil, &SyntaxError{Message: fmt.Sprint(problem)}
		}
	}()
	statements, err := parseScript(name, source)
	if err != nil {
		return nil, err
	}
	r := newRewriter()
	r.statements(statements)
	if r.err != nil {
		return nil, r.err
	}
	setArguments := &ast.LocalAssignStmt{Names: []string{"arg"}, Exprs: []ast.Expr{&ast.IdentExpr{Value: argumentsName}}}
	script := &ast.FunctionExpr{ParList: &ast.ParList{HasVargs: true}, Stmts: append([]ast.Stmt{setArguments}, statements...)}
	proto, err = lua.Compile([]ast.Stmt{
		&ast.LocalAssignStmt{Names: []string{concatName, keyName, argumentsName}, Exprs: []ast.Expr{&ast.Comma3Expr{}}},
		&ast.ReturnStmt{Exprs: []ast.Expr{script}},
	}, name)
	if err != nil {
		return nil, syntaxError(err, source)
	}
	replaceTailCalls(proto)
	return proto, nil
}

// syntaxError converts an error of the parser or compiler.
func syntaxError(err error, source string) *SyntaxError {
	if parseError := (*parse.Error)(nil); errors.As(err, &parseError) {
		if parseError.Pos.Line == parse.EOF {
			lines := strings.Count(strings.TrimSpace(source), "\n") + 1
			return &SyntaxError{Line: lines, Message: parseError.Message + " at the end of the file"}
		}
		return &SyntaxError{Line: parseError.Pos.Line, Message: fmt.Sprintf("%s near '%s'", parseError.Message, parseError.Token)}
	}
	if compileError := (*lua.CompileError)(nil); errors.As(err, &compileError) {
		return labelError(compileError)
	}
	return &SyntaxError{Message: err.Error()}
}

// gotoPosition matches the position of a goto in the message of a compile error.
var gotoPosition = regexp.MustCompile(`(<goto[^>]*>) at line (\d+)`)

// labelError converts an error of the compiler. For labels, its line is not the one that has to be
// changed: the compiler names the end of the function, or the line after the label.
func labelError(err *lua.CompileError) *SyntaxError {
	converted := &SyntaxError{Line: max(err.Line, 0), Message: err.Message}
	if found := gotoPosition.FindStringSubmatch(err.Message); len(found) == 3 {
		converted.Line, _ = strconv.Atoi(found[2])
		converted.Message = strings.Replace(err.Message, found[0], found[1], 1)
	} else if strings.HasPrefix(err.Message, "label '") {
		converted.Line = max(err.Line-1, 0)
	}
	return converted
}

// replaceTailCalls replaces tail calls by ordinary calls. The interpreter counts tail calls and
// lists them all in a traceback, so that a script could fill the memory with its traceback. With
// ordinary calls, recursion without end is a stack overflow.
func replaceTailCalls(proto *lua.FunctionProto) {
	const operands = 1<<26 - 1
	for i, instruction := range proto.Code {
		if instruction>>26 == uint32(lua.OP_TAILCALL) {
			proto.Code[i] = instruction&operands | uint32(lua.OP_CALL)<<26
		}
	}
	for _, inner := range proto.FunctionPrototypes {
		replaceTailCalls(inner)
	}
}
