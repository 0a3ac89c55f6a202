// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package scripthandlers

import (
	"context"
	"errors"

	"github.com/ordered-helm/helm/internal/chartscripts"
	"github.com/ordered-helm/helm/internal/lifecycle"
	"github.com/ordered-helm/helm/internal/luasandbox"
)

// Handler is a function of a script that handles an event.
type Handler struct {
	Event lifecycle.Event
	// File and Line say where the function is. File is relative to the chart.
	File string
	Line int
}

// errNotChecked is the error of functions that need a permission while scripts are checked.
var errNotChecked = errors.New("permissions are not granted while scripts are checked")

// Check loads the scripts of one chart without any permission, and returns the handlers that they register.
// It calls none of them. The error is a *ScriptError. A script that uses a permission while it is loaded is not
// checked further.
func Check(ctx context.Context, c *chartscripts.Chart) ([]Handler, error) {
	r := &Runtime{emitter: &lifecycle.Emitter{}, running: make(chan struct{}, 1)}
	s := newState(r, c, luasandbox.NewGroup())
	defer s.lua.Close()
	for _, p := range chartscripts.AllPermissions() {
		for table, functions := range p.Functions() {
			stubs := map[string]luasandbox.GoFunction{}
			for _, name := range functions {
				stubs[name] = func(context.Context, []any) ([]any, error) { return nil, errNotChecked }
			}
			if err := s.lua.Register(table, stubs); err != nil {
				return nil, err
			}
		}
	}
	err := s.load(ctx)
	if errors.Is(err, errNotChecked) {
		err = nil
	}
	return s.registered, err
}
