// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package scripthandlers runs the Lua scripts of charts as handlers of lifecycle events
// (docs/reference.md, "Scripts").
package scripthandlers

import (
	"context"
	"maps"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/ordered-helm/helm/internal/chartscripts"
	"github.com/ordered-helm/helm/internal/lifecycle"
	"github.com/ordered-helm/helm/internal/luasandbox"
)

// Options configures a Runtime.
type Options struct {
	// Emitter contains the handlers of the Go program; nil if there are none.
	Emitter *lifecycle.Emitter
	// Observe, if not nil, is called for handlers of the Go program and of scripts that take long.
	Observe func(lifecycle.Progress)
	// Acceptance says which permissions scripts get.
	Acceptance chartscripts.Acceptance
	// Print receives the lines that scripts print, and Log the lines that they log.
	Print, Log func(line string)
	// HTTP sends the requests of scripts with the permission for the network.
	HTTP luasandbox.HTTPClient
	// Cluster contains the functions for scripts with the permission for the cluster.
	Cluster map[string]luasandbox.GoFunction
	// Limits bounds each call of a script.
	Limits luasandbox.Limits
}

// Runtime runs the scripts of the charts of one operation, one at a time. The nil Runtime has no
// scripts.
type Runtime struct {
	options  Options
	emitter  *lifecycle.Emitter
	charts   []*chartscripts.Chart
	accepted map[string][]luasandbox.Permission
	states   []*state
	// running has an element while a script runs. It protects usage.
	running chan struct{}
	usage   usage
}

// Start loads the scripts of charts, subcharts first, after it has asked for the permissions that they need.
// The error is a *chartscripts.PermissionError or a *ScriptError. The caller must close the Runtime.
func Start(ctx context.Context, charts []*chartscripts.Chart, o Options) (*Runtime, error) {
	r := &Runtime{options: o, charts: charts, running: make(chan struct{}, 1)}
	if o.Emitter != nil || len(charts) > 0 {
		r.emitter = o.Emitter.Clone(o.Observe)
	}
	if len(charts) == 0 {
		return r, nil
	}
	var err error
	if r.accepted, err = o.Acceptance.Grant(ctx, r.charts); err != nil {
		return nil, err
	}
	group := luasandbox.NewGroup()
	for _, c := range r.charts {
		s := newState(r, c, group)
		r.states = append(r.states, s)
		if err := s.load(ctx); err != nil {
			r.Close()
			return nil, err
		}
	}
	return r, nil
}

// Emitter returns the handlers of the scripts and of the Go program; nil if there are none.
func (r *Runtime) Emitter() *lifecycle.Emitter {
	if r == nil {
		return nil
	}
	return r.emitter
}

// HasScripts reports whether the charts have scripts that run.
func (r *Runtime) HasScripts() bool { return r != nil && len(r.charts) > 0 }

// WithRecord returns ch, for which the scripts were loaded, in the form in which a release stores it:
// with what is needed to run the scripts again.
func (r *Runtime) WithRecord(ch *chart.Chart) (*chart.Chart, error) {
	if !r.HasScripts() {
		return ch, nil
	}
	return chartscripts.WithRecord(ch, r.charts, maps.Clone(r.accepted))
}

// Close ends the scripts.
func (r *Runtime) Close() {
	if r == nil {
		return
	}
	for _, s := range r.states {
		s.lua.Close()
	}
	r.states = nil
}

// acquire waits until no other script runs, and begins to handle an event. The caller must call release.
func (r *Runtime) acquire(ctx context.Context, event lifecycle.Event, request *lifecycle.Request) (release func(), err error) {
	select {
	case r.running <- struct{}{}:
		r.usage.begin(event, request)
		return func() { <-r.running }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
