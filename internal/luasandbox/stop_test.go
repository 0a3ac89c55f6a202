// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package luasandbox

import (
	"errors"
	"testing"

	lua "github.com/yuin/gopher-lua"
)

// TestStopOfFailedScript checks that the error of a call has a position if its time was over after the
// script had failed, but before the call ended.
func TestStopOfFailedScript(t *testing.T) {
	state := New(Options{Owner: "test"})
	defer state.Close()
	err, is := errors.AsType[*Error](state.stopError(ErrTimeLimit, &lua.ApiError{StackTrace: "stack traceback:\n\ta.lua:3: in main chunk\n\t[G]: ?"}))
	if !is || err.File != "a.lua" || err.Line != 3 || !errors.Is(err, ErrTimeLimit) {
		t.Errorf("got %+v", err)
	}
	if err, is := errors.AsType[*Error](state.stopError(ErrTimeLimit, nil)); !is || err.File != "" {
		t.Errorf("got %+v", err)
	}
}
