// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package scripthandlers

import (
	"context"
	"fmt"

	"github.com/ordered-helm/helm/internal/lifecycle"
	"github.com/ordered-helm/helm/internal/luasandbox"
)

// handler is a function of a script that handles an event.
type handler struct {
	*state
	event    lifecycle.Event
	function *luasandbox.Function
}

// handle calls the function for an event for which it can change nothing.
func (h *handler) handle(ctx context.Context, r *lifecycle.Request) error {
	release, err := h.runtime.acquire(ctx, h.event, r)
	if err != nil {
		return err
	}
	defer release()
	arguments, err := h.arguments(r)
	if err != nil {
		return err
	}
	return h.call(ctx, arguments)
}

// wait calls the function for the event wait.
func (h *handler) wait(ctx context.Context, r *lifecycle.Request) (done bool, err error) {
	release, err := h.runtime.acquire(ctx, h.event, r)
	if err != nil {
		return false, err
	}
	defer release()
	arguments, err := h.arguments(r)
	if err != nil {
		return false, err
	}
	limited, end := h.runtime.usage.limit(ctx)
	defer end()
	results, err := h.lua.Call(limited, h.function, arguments...)
	if err != nil {
		return false, h.failure(ctx, err)
	}
	if len(results) == 1 {
		if done, isBool := results[0].(bool); isBool {
			return done, nil
		}
	}
	return false, h.mistake("must return true or false: whether the operation can stop waiting")
}

// changeValues calls the function for the event pre-render, and applies what it changes in the values of
// the chart.
func (h *handler) changeValues(ctx context.Context, r *lifecycle.Request) error {
	release, err := h.runtime.acquire(ctx, h.event, r)
	if err != nil {
		return err
	}
	defer release()
	path := namesBelowRoot(h.chart.Path)
	values, err := h.lua.NewValue(valuesAt(r.Values, path))
	if err != nil {
		return h.mistake("cannot use the values: %w", err)
	}
	if err := h.call(ctx, []any{r.Name, r.Namespace, h.metadata(), values}); err != nil {
		return err
	}
	result, changed, err := func() (any, bool, error) {
		limited, end := h.runtime.usage.limit(ctx)
		defer end()
		return values.Go(limited)
	}()
	if err != nil {
		return h.mistake("has changed the values to something that is not YAML: %w", err)
	}
	if !changed {
		return nil
	}
	mapping, isMap := result.(map[string]any)
	if !isMap {
		return h.mistake("has changed the values to a list")
	}
	r.Values = withValuesAt(r.Values, path, mapping)
	if err := h.runtime.usage.checkValues(r.Values); err != nil {
		return h.mistake("%w", err)
	}
	return nil
}

// arguments returns the arguments of the function for an event.
func (h *handler) arguments(r *lifecycle.Request) ([]any, error) {
	if h.event == lifecycle.ChartLoaded {
		return []any{h.metadata()}, nil
	}
	arguments := []any{r.Name, r.Namespace, h.metadata(), valuesAt(r.Values, namesBelowRoot(h.chart.Path))}
	if r.Manifest == nil {
		return append(arguments, []any{}), nil
	}
	var objects []any
	for _, d := range h.own(r.Manifest.Documents) {
		object, err := d.Object()
		if err != nil {
			return nil, err
		}
		if object != nil {
			objects = append(objects, object)
		}
	}
	return append(arguments, objects), nil
}

// call calls the function, which must return nothing.
func (h *handler) call(ctx context.Context, arguments []any) error {
	limited, end := h.runtime.usage.limit(ctx)
	defer end()
	results, err := h.lua.Call(limited, h.function, arguments...)
	if err != nil {
		return h.failure(ctx, err)
	}
	for _, result := range results {
		if result != nil {
			return h.mistake("must return nothing: change the arguments in place")
		}
	}
	return nil
}

// mistake returns an error about what the function has returned or changed.
func (h *handler) mistake(format string, arguments ...any) error {
	cause := fmt.Errorf("the handler of "+string(h.event)+" "+format, arguments...)
	file, line := h.function.Position()
	return &ScriptError{Chart: h.chart.Path, Output: h.lines, Err: &luasandbox.Error{
		Owner: fmt.Sprintf("chart %q", h.chart.Path), File: file, Line: line, Message: cause.Error(), Err: cause,
	}}
}
