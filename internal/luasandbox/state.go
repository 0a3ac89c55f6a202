// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package luasandbox runs Lua scripts of somebody else. A script reaches nothing but what its
// permissions allow, and ends with an error if it needs too much time or memory.
package luasandbox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path"
	"slices"
	"sync"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/ordered-helm/helm/internal/luasandbox/luacompile"
	"github.com/ordered-helm/helm/internal/luasandbox/luaio"
	"github.com/ordered-helm/helm/internal/luasandbox/lualib"
)

const (
	// callStackSize is the maximum number of nested function calls.
	callStackSize = 2000
	// registrySize is the initial number of values on the stack of the interpreter.
	registrySize = 1024
	// maxRegistrySize is the maximum number of these values.
	maxRegistrySize = 256 * 1024
	// registryGrowStep is the number of values by which the stack grows.
	registryGrowStep = 8 * 1024
)

// Permission is a capability that scripts do not have by default.
type Permission string

// Permissions.
const (
	// Network provides the table http.
	Network Permission = "network"
	// Filesystem provides the table io, and functions for files in the table os.
	Filesystem Permission = "filesystem"
	// Environment provides the function os.getenv.
	Environment Permission = "environment"
	// Cluster provides the functions in Options.Cluster.
	Cluster Permission = "cluster"
)

// Limits bounds what a call of a script can consume. The zero value of a field means the
// default. A negative value means no limit.
type Limits struct {
	// Time is the maximum duration of a call. The default is 5 seconds.
	Time time.Duration
	// Memory is the number of bytes by which the heap of the process can grow during a call,
	// plus what the state keeps from earlier calls. What other goroutines allocate at the same
	// time counts too. The strings and tables of a value that a script gives to Go can have an
	// eighth of it. The default is 96 MiB.
	Memory int64
	// Output is the maximum number of bytes that a call can write. The default is 1 MiB.
	Output int
	// String is the maximum length of a string in bytes. The default is 8 MiB.
	String int
}

func (l Limits) withDefaults() Limits {
	if l.Time == 0 {
		l.Time = 5 * time.Second
	}
	if l.Memory == 0 {
		l.Memory = 96 << 20
	}
	if l.Output == 0 {
		l.Output = 1 << 20
	}
	if l.String == 0 {
		l.String = 8 << 20
	}
	return l
}

// Process makes a script a program.
type Process = luaio.Process

// ExitError is the reason for which a program is stopped that calls os.exit with a code other than 0.
type ExitError = luaio.ExitError

// HTTPClient sends the requests of scripts that have the permission Network. *http.Client
// implements it.
type HTTPClient interface {
	Do(request *http.Request) (*http.Response, error)
}

// Options configures a state.
type Options struct {
	// Owner describes whose scripts these are, for example `chart "shop"`. It is the beginning
	// of each error message.
	Owner string
	// Permissions contains the granted permissions.
	Permissions []Permission
	// Log receives what scripts pass to the function log, and Print what they pass to println,
	// line by line, without control characters. If a function is nil, its lines are discarded.
	Log, Print func(line string)
	// HTTP sends requests if the permission Network is granted. If it is nil, requests fail.
	HTTP HTTPClient
	// Cluster contains the functions of the table cluster, if the permission Cluster is granted.
	Cluster map[string]GoFunction
	// LookupEnv returns environment variables if the permission Environment is granted. The
	// default is os.LookupEnv.
	LookupEnv func(name string) (string, bool)
	// Process makes a script a program, with arguments and standard streams. It needs the
	// permission Filesystem. It can be nil.
	Process *Process
	// Limits bounds each call.
	Limits Limits
	// Group contains the states that share Limits.Memory with this one. It can be nil.
	Group *Group
}

// State contains loaded scripts. It runs one call at a time.
type State struct {
	options Options
	mu      sync.Mutex
	lua     *lua.LState
	// libraries contains the libraries that need no permission.
	libraries *lualib.Library
	files     map[string]bool
	// io contains the files that scripts have opened.
	io *luaio.IO
	// functions contains the functions of scripts that Go has received.
	functions map[*lua.LFunction]struct{}
	closed    bool

	// The following fields belong to the running call.

	guard *guard
	// written is the number of bytes that the call has written.
	written int
	// stopTrace is the traceback at the time at which the call was stopped.
	stopTrace []string
	// cause is the last error that a Go function has returned to a script.
	cause error

	// cancelMu protects cancel, which stops the running call. It is nil if there is none.
	cancelMu sync.Mutex
	cancel   context.CancelCauseFunc
}

// New returns a state without scripts. The caller must close it.
func New(options Options) *State {
	options.Limits = options.Limits.withDefaults()
	if options.LookupEnv == nil {
		options.LookupEnv = os.LookupEnv
	}
	if options.Group == nil {
		options.Group = NewGroup()
	}
	s := &State{
		options: options,
		lua: lua.NewState(lua.Options{
			SkipOpenLibs:     true,
			CallStackSize:    callStackSize,
			RegistrySize:     registrySize,
			RegistryMaxSize:  maxRegistrySize,
			RegistryGrowStep: registryGrowStep,
		}),
		files:     map[string]bool{},
		functions: map[*lua.LFunction]struct{}{},
	}
	s.openLibraries()
	s.options.Group.add(s)
	return s
}

// openLibraries makes the libraries available that the permissions allow. Each function that
// they contain is bounded.
func (s *State) openLibraries() {
	s.libraries = lualib.Open(s.lua, lualib.Options{
		Host:      host{s},
		Log:       s.options.Log,
		Print:     s.options.Print,
		MaxString: s.options.Limits.String,
	})
	s.io = luaio.New(s.lua, luaio.Options{Host: host{s}, Libraries: s.libraries, MaxString: s.options.Limits.String})
	for permission, open := range map[Permission]func(){
		Network:     s.openHTTP,
		Filesystem:  s.io.OpenFiles,
		Environment: func() { s.io.OpenEnvironment(s.options.LookupEnv) },
		Cluster:     func() { s.register("cluster", s.options.Cluster) },
	} {
		if slices.Contains(s.options.Permissions, permission) {
			open()
		}
	}
	if s.options.Process != nil {
		s.io.OpenProcess(s.options.Process)
	}
}

// syntaxError converts an error of package luacompile.
func syntaxError(owner, file string, err error) error {
	if err == nil {
		return nil
	}
	e := &Error{Owner: owner, File: file, Message: safeMessage(err.Error())}
	if invalid := (*luacompile.SyntaxError)(nil); errors.As(err, &invalid) {
		e.Line = invalid.Line
	}
	return e
}

// Load compiles and runs a script. file is the name of its file in errors.
func (s *State) Load(ctx context.Context, file, source string) error {
	release, err := s.acquire()
	if err != nil {
		return err
	}
	defer release()
	file = path.Clean(safeMessage(file))
	var arguments []lua.LValue
	if s.options.Process != nil {
		arguments = s.io.SetArguments(file, s.options.Process.Arguments)
	}
	function, err := luacompile.Compile(s.lua, file, source, luacompile.Hooks{Concat: s.libraries.Concat, Key: s.libraries.CheckKey})
	if err != nil {
		return syntaxError(s.options.Owner, file, err)
	}
	s.files[file] = true
	if _, err = s.run(ctx, function, arguments); errors.Is(err, luaio.ErrExited) {
		return nil
	}
	return err
}

// Call calls a function of a script. The arguments are Go values, as described at Value, or
// Values of this state. It returns the results as Go values. If the script fails or is stopped,
// the error is an *Error.
func (s *State) Call(ctx context.Context, function *Function, arguments ...any) ([]any, error) {
	release, err := s.acquire()
	if err != nil {
		return nil, err
	}
	defer release()
	if function.state != s {
		return nil, errors.New("the function belongs to another Lua state")
	}
	values := make([]lua.LValue, len(arguments))
	for i, argument := range arguments {
		value, isValue := argument.(*Value)
		if !isValue {
			if value, err = s.NewValue(argument); err != nil {
				return nil, fmt.Errorf("argument %d: %w", i+1, err)
			}
		}
		values[i] = value.lua
	}
	results, err := s.run(ctx, function.lua, values)
	if failed := (*Error)(nil); errors.As(err, &failed) {
		failed.nameCalled(function)
	}
	return results, err
}

// acquire reserves the state for a call. The caller must call release.
func (s *State) acquire() (release func(), err error) {
	if !s.mu.TryLock() {
		return nil, errors.New("the Lua state is already in use")
	}
	if s.closed {
		s.mu.Unlock()
		return nil, ErrClosed
	}
	return s.mu.Unlock, nil
}

// run calls a function within the limits, and returns its results.
func (s *State) run(ctx context.Context, function *lua.LFunction, arguments []lua.LValue) ([]any, error) {
	g := newGuard(ctx, s.options.Limits, s.options.Group.retained(s))
	g.onStop = func() { s.stopTrace = s.traceback() }
	s.guard, s.written, s.stopTrace, s.cause = g, 0, nil, nil
	s.setCancel(g.cancel)
	// A script that is loaded could be too short for a check.
	g.checkHeap()
	defer func() {
		s.setCancel(nil)
		g.cancel(context.Canceled)
		s.lua.RemoveContext()
		s.lua.SetTop(0)
		s.guard = nil
	}()
	s.lua.SetContext(g) //nolint:contextcheck // the guard is derived from ctx
	s.lua.Push(function)
	for _, argument := range arguments {
		s.lua.Push(argument)
	}
	err := s.lua.PCall(len(arguments), lua.MultRet, nil)
	if stopErr := g.Err(); stopErr != nil {
		return nil, s.stopError(stopErr, err)
	}
	if err != nil {
		return nil, s.convertError(err)
	}
	c := s.newConverter(g)
	results := make([]any, s.lua.GetTop())
	for i := range results {
		if results[i], err = c.toGo(s.lua.Get(i + 1)); err != nil {
			return nil, s.resultError(function, fmt.Errorf("result %d: %w", i+1, err))
		}
	}
	return results, nil
}

// setCancel sets the function with which Close stops the running call.
func (s *State) setCancel(cancel context.CancelCauseFunc) {
	s.cancelMu.Lock()
	defer s.cancelMu.Unlock()
	s.cancel = cancel
}

// stopError returns the error of a call that was stopped for this reason. If the script had already failed
// when the time was over, failure says where.
func (s *State) stopError(reason, failure error) error {
	trace := s.stopTrace
	if failed := (*lua.ApiError)(nil); trace == nil && errors.As(failure, &failed) {
		trace = tracebackLines(failed.StackTrace)
	}
	e := s.runtimeError(reason.Error(), trace, nil)
	e.Err = reason
	return e
}

// resultError returns the error of a result of a function that cannot be converted.
func (s *State) resultError(function *lua.LFunction, err error) error {
	e := &Error{Owner: s.options.Owner, Message: safeMessage(err.Error()), Err: err}
	if function.Proto != nil {
		e.File, e.Line = function.Proto.SourceName, function.Proto.LineDefined
	}
	return e
}

// convertError converts an error of the interpreter.
func (s *State) convertError(err error) error {
	apiError := (*lua.ApiError)(nil)
	if !errors.As(err, &apiError) {
		return s.runtimeError(err.Error(), nil, nil)
	}
	message := "an error object of the type " + apiError.Object.Type().String()
	if lua.LVCanConvToString(apiError.Object) {
		message = lua.LVAsString(apiError.Object)
	}
	return s.runtimeError(message, tracebackLines(apiError.StackTrace), s.cause)
}

// Close stops the running call, waits for its end and closes the files that scripts have
// opened. Later calls return ErrClosed.
func (s *State) Close() {
	s.cancelMu.Lock()
	if s.cancel != nil {
		s.cancel(ErrClosed)
	}
	s.cancelMu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	s.options.Group.remove(s)
	s.io.Close()
	s.lua.Close()
	s.lua, s.functions, s.io = nil, nil, nil
}
