// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package luasandbox

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/ordered-helm/helm/internal/terminalsafe"
)

// Reasons for which a script is stopped. No script can catch them.
var (
	// ErrTimeLimit means that a script has reached Limits.Time.
	ErrTimeLimit = errors.New("the script takes too long")
	// ErrMemoryLimit means that a script has reached Limits.Memory.
	ErrMemoryLimit = errors.New("the script needs too much memory")
	// ErrOutputLimit means that a script has reached Limits.Output.
	ErrOutputLimit = errors.New("the script writes too much output")
)

// ErrClosed is returned for calls of a state after Close.
var ErrClosed = errors.New("the Lua state is closed")

// maxMessage is the maximum length of an error message from a script in bytes.
const maxMessage = 4096

// Error is an error in a script.
type Error struct {
	// Owner is Options.Owner of the state.
	Owner string
	// File and Line are the position of the error. They are empty if the position is not known.
	File string
	Line int
	// Message describes the error. It contains no control characters.
	Message string
	// Traceback contains a line for each active function, the innermost first.
	Traceback []string
	// Err is the cause: one of the reasons for which a script is stopped, an error of the
	// context or of a Go function that the script has called, or nil.
	Err error
}

// Error returns the owner, the position, the message and the traceback.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Owner)
	if e.File != "" {
		b.WriteString(": " + e.File)
	}
	if e.Line > 0 {
		b.WriteString(":" + strconv.Itoa(e.Line))
	}
	b.WriteString(": " + e.Message)
	if len(e.Traceback) > 0 {
		b.WriteString("\nstack traceback:")
	}
	for _, line := range e.Traceback {
		b.WriteString("\n    " + line)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// position matches the position at the beginning of a message of the interpreter.
var position = regexp.MustCompile(`^([^\n:]+):(\d+):\s*`)

// runtimeError converts an error of the interpreter. trace contains the lines of its traceback,
// and cause the error of a Go function that the script has called last.
func (s *State) runtimeError(message string, trace []string, cause error) *Error {
	e := &Error{Owner: s.options.Owner, Traceback: trace}
	if found := position.FindStringSubmatch(message); len(found) == 3 && s.files[found[1]] {
		e.File = found[1]
		e.Line, _ = strconv.Atoi(found[2])
		message = message[len(found[0]):]
	} else if len(trace) > 0 {
		if found := position.FindStringSubmatch(trace[0]); found != nil {
			e.File = found[1]
			e.Line, _ = strconv.Atoi(found[2])
		}
	}
	if cause != nil && strings.HasSuffix(message, cause.Error()) {
		e.Err = cause
	}
	e.Message = safeMessage(message)
	return e
}

// safeMessage returns a message from a script without control characters, and shortens it.
func safeMessage(message string) string {
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "") + fmt.Sprintf("… (%d bytes)", len(message))
	}
	return terminalsafe.Sanitize(strings.ToValidUTF8(message, "\uFFFD"))
}
