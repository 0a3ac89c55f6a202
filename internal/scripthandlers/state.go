// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package scripthandlers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ordered-helm/helm/internal/chartscripts"
	"github.com/ordered-helm/helm/internal/lifecycle"
	"github.com/ordered-helm/helm/internal/luasandbox"
)

// maxLines is the number of lines of output that an error contains.
const maxLines = 10

// state contains the scripts of one chart.
type state struct {
	runtime *Runtime
	chart   *chartscripts.Chart
	lua     *luasandbox.State
	// isLoading is true while the files of the scripts run, which register handlers.
	isLoading bool
	// lines contains the last lines of output.
	lines []string
	// registered contains all handlers of the chart.
	registered []Handler
}

func newState(r *Runtime, c *chartscripts.Chart, group *luasandbox.Group) *state {
	s := &state{runtime: r, chart: c}
	s.lua = luasandbox.New(luasandbox.Options{
		Owner: fmt.Sprintf("chart %q", c.Path), Permissions: r.accepted[c.Path], Group: group, Limits: r.options.Limits,
		Print: s.keep(r.options.Print), Log: s.keep(r.options.Log), HTTP: r.options.HTTP, Cluster: r.options.Cluster,
	})
	return s
}

// keep returns a function that keeps the last lines of output, and passes them on.
func (s *state) keep(write func(string)) func(string) {
	return func(line string) {
		if !s.runtime.usage.addOutput(line) {
			return
		}
		if s.lines = append(s.lines, line); len(s.lines) > maxLines {
			s.lines = slices.Delete(s.lines, 0, len(s.lines)-maxLines)
		}
		if write != nil {
			write(s.chart.Path + ": " + line)
		}
	}
}

// load runs the files of the scripts, which register handlers.
func (s *state) load(ctx context.Context) error {
	if err := s.lua.Register("events", map[string]luasandbox.GoFunction{"on": s.on}); err != nil {
		return err
	}
	s.isLoading = true
	defer func() { s.isLoading = false }()
	limited, end := s.runtime.usage.limit(ctx)
	defer end()
	for _, f := range s.chart.Files {
		if err := s.lua.Load(limited, f.Name, string(f.Data)); err != nil {
			return s.failure(ctx, err)
		}
	}
	return nil
}

// ScriptError reports that a script of a chart has failed.
type ScriptError struct {
	// Chart is the path of the chart.
	Chart string
	// Err is the error, with its position and a traceback.
	Err *luasandbox.Error
	// Output contains the last lines that the scripts of the chart have printed or logged.
	Output []string
}

// Error returns the error of the script, its traceback and its last lines of output.
func (e *ScriptError) Error() string {
	return strings.Join(append([]string{e.WithoutDetails()}, e.Details()...), "\n")
}

// WithoutDetails returns the error of the script, with its position.
func (e *ScriptError) WithoutDetails() string {
	short := *e.Err
	short.Traceback = nil
	return short.Error()
}

// Details returns the traceback and the last lines of output.
func (e *ScriptError) Details() []string {
	lines := section("stack traceback:", e.Err.Traceback)
	return append(lines, section("output:", e.Output)...)
}

// section returns a title and indented lines, or nothing if there are no lines.
func section(title string, lines []string) []string {
	if len(lines) == 0 {
		return nil
	}
	indented := []string{title}
	for _, line := range lines {
		indented = append(indented, "    "+line)
	}
	return indented
}

func (e *ScriptError) Unwrap() error { return e.Err }

// failure returns the error of a script. If ctx has ended, that is the error.
func (s *state) failure(ctx context.Context, err error) error {
	if ended := context.Cause(ctx); ended != nil {
		return ended
	}
	if failed, is := errors.AsType[*luasandbox.Error](err); is {
		return &ScriptError{s.chart.Path, failed, slices.Clone(s.lines)}
	}
	return err
}

// on implements the function events.on(event, weight, handler).
func (s *state) on(_ context.Context, arguments []any) ([]any, error) {
	if !s.isLoading {
		return nil, errors.New("events.on can be called only while the scripts are loaded, not in a handler")
	}
	if len(arguments) != 3 {
		return nil, fmt.Errorf("events.on needs 3 arguments, but has %d: the event, the weight and the handler", len(arguments))
	}
	name, isName := arguments[0].(string)
	weight, isWeight := number(arguments[1])
	handler, isHandler := arguments[2].(*luasandbox.Function)
	switch {
	case !isName:
		return nil, errors.New("the first argument of events.on must be the name of an event")
	case !isWeight:
		return nil, errors.New("the second argument of events.on must be the weight, a number from 0 to 1")
	case !isHandler:
		return nil, errors.New("the third argument of events.on must be a function")
	}
	event, err := lifecycle.ParseEvent(name)
	if err != nil {
		return nil, err
	}
	return nil, s.register(event, weight, handler)
}

func number(value any) (float64, bool) {
	switch value := value.(type) {
	case int64:
		return float64(value), true
	case float64:
		return value, true
	}
	return 0, false
}

func (s *state) register(event lifecycle.Event, weight float64, f *luasandbox.Function) error {
	file, line := f.Position()
	s.registered = append(s.registered, Handler{event, file, line})
	emitter, h := s.runtime.emitter, &handler{s, event, f}
	switch event {
	case lifecycle.PreList, lifecycle.PostList:
		return fmt.Errorf("scripts cannot handle %s: no chart belongs to it", event)
	case lifecycle.Wait:
		return emitter.OnChartWait(weight, s.chart.Path, h.wait)
	case lifecycle.PreRender:
		return emitter.OnChart(event, weight, s.chart.Path, h.changeValues)
	case lifecycle.PostRender:
		if s.chart.Library { // it renders nothing
			return nil
		}
		return emitter.OnChart(event, weight, s.chart.Path, h.changeManifest)
	}
	return emitter.OnChart(event, weight, s.chart.Path, h.handle)
}
