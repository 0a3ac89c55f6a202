// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"net/http"
	"time"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/chartscripts"
	"github.com/ordered-helm/helm/internal/clusterscript"
	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/lifecycle"
	"github.com/ordered-helm/helm/internal/operation"
	"github.com/ordered-helm/helm/internal/planner"
	"github.com/ordered-helm/helm/internal/redact"
	"github.com/ordered-helm/helm/internal/scripthandlers"
)

// ScriptOptions say what the scripts of charts can do (docs/reference.md, "Scripts"). By default, they
// get no permissions: an operation on a chart that asks for some fails with a *ScriptPermissionError before
// anything is changed.
type ScriptOptions struct {
	// AcceptPermissions contains the names of the permissions that scripts can have, such as
	// "network". An unknown name is an error. If it is not empty, AskPermissions is not used.
	AcceptPermissions []string
	// AskPermissions, if not nil, is called for each chart that asks for permissions, before any
	// script runs, and returns whether they are accepted.
	AskPermissions func(context.Context, ScriptPermissionRequest) (bool, error)
}

type (
	// ScriptPermissionRequest says which permissions a chart asks for.
	ScriptPermissionRequest = chartscripts.PermissionRequest
	// ScriptPermissionError reports that a chart asks for permissions that were not accepted. Nothing
	// was changed.
	ScriptPermissionError = chartscripts.PermissionError
	// ScriptError reports that a script of a chart has failed.
	ScriptError = scripthandlers.ScriptError
)

// scriptRequestTimeout limits the HTTP requests of scripts. Calls of scripts have a shorter limit.
const scriptRequestTimeout = 30 * time.Second

// handlers returns the options for running scripts in an operation. looksUp says whether scripts with the
// permission can read objects of the cluster.
func (o ScriptOptions) handlers(e *lifecycle.Emitter, cfg *Configuration, out *scriptOutput, looksUp bool) scripthandlers.Options {
	options := o.checkHandlers(e)
	options.Observe, options.Print, options.Log = out.events.HandlerProgress(""), out.print, out.logTo(cfg.Log)
	if looksUp {
		options.Cluster = clusterscript.Functions(cfg.RESTClientGetter)
	}
	return options
}

// checkHandlers returns the options for running scripts without showing what they print, and without reading
// objects of a cluster.
func (o ScriptOptions) checkHandlers(e *lifecycle.Emitter) scripthandlers.Options {
	return scripthandlers.Options{
		Emitter: e, Acceptance: chartscripts.Acceptance{Accepted: o.AcceptPermissions, Ask: o.AskPermissions},
		HTTP: &http.Client{Timeout: scriptRequestTimeout}, Cluster: clusterscript.Functions(nil),
	}
}

// scriptOutput passes the lines that scripts print to an operation. While a chart is rendered, it keeps
// them: only the rendered Secrets say which parts of them have to be redacted.
type scriptOutput struct {
	events *event.Sink
	isHeld bool
	// held contains functions that show the lines.
	held []func()
}

func (o *scriptOutput) print(line string) {
	o.show(func() { o.events.Emit(event.Event{Type: event.ScriptOutput, Message: line}) })
}

// logTo returns a function that passes lines to a log.
func (o *scriptOutput) logTo(log func(string, ...any)) func(line string) {
	return func(line string) {
		o.show(func() { o.events.RedactLog(log)("script: %s", line) })
	}
}

func (o *scriptOutput) show(line func()) {
	if o.isHeld {
		o.held = append(o.held, line)
		return
	}
	line()
}

// showWithout shows all lines, without the contents of the Secrets among objects.
func (o *scriptOutput) showWithout(objects []map[string]any) {
	o.events.RedactWith(redact.ForObjects(objects))
	o.isHeld = false
	for _, line := range o.held {
		line()
	}
	o.held = nil
}

// render renders the chart of p, and then shows what its scripts have printed.
func (o *scriptOutput) render(ctx context.Context, p *planner.Planner) (*planner.Rendered, error) {
	rendered, finish, err := o.attempt(ctx, p)
	finish(true)
	return rendered, err
}

// attempt renders the chart of p, perhaps to render it again later. The caller must call finish, which shows
// what the scripts have printed if the result is used, and otherwise discards it.
func (o *scriptOutput) attempt(ctx context.Context, p *planner.Planner) (rendered *planner.Rendered, finish func(isUsed bool), err error) {
	before := len(o.held)
	rendered, err = p.Render(ctx)
	return rendered, func(isUsed bool) {
		switch {
		case !p.HasScripts():
		case !isUsed:
			o.held = o.held[:before]
		case rendered != nil && rendered.Result != nil:
			objects := rendered.Contents()
			// If rendering failed, there are no documents. A post-renderer may have added Secrets.
			if err != nil || rendered.Changed() {
				objects = append(objects, redact.ManifestObjects(rendered.Manifest)...)
			}
			o.showWithout(objects)
		}
	}, err
}

// storedEvents loads the scripts of a stored release, and returns what emits the events of an operation
// on c.rel, which has the same chart. The caller must call end.
func (o ScriptOptions) storedEvents(ctx context.Context, op *operation.Operation, cfg *Configuration, c storedEventsConfig) (events *lifecycle.Operation, end func(), err error) {
	stored := &chartscripts.Stored{Chart: c.source.Chart}
	out := &scriptOutput{events: op.Events}
	if !c.disabled {
		if stored, err = chartscripts.FromRelease(c.source); err != nil {
			return nil, nil, err
		}
		if len(stored.Charts) > 0 {
			out.showWithout(append(redact.ManifestObjects(c.source.Manifest), redact.HookObjects(c.source.Hooks)...))
		}
	}
	runtime, err := scripthandlers.Start(ctx, stored.Charts, o.handlers(c.emitter, cfg, out, true))
	if err != nil {
		return nil, nil, err
	}
	return eventsOf(runtime.Emitter(), c.rel, func() (map[string]any, error) {
		if stored.Chart == nil {
			return c.rel.Config, nil
		}
		return chartutil.CoalesceValues(stored.Chart, c.rel.Config)
	}), runtime.Close, nil
}

// ReleaseScripts returns the scripts that a stored revision contains, as text for people, with the
// permissions for which they ask (docs/reference.md, "Scripts"). Rollbacks to this revision, and uninstalls
// of it, run them.
func ReleaseScripts(rel *release.Release) (string, error) {
	stored, err := chartscripts.FromRelease(rel)
	if err != nil {
		return "", err
	}
	return chartscripts.Text(stored.Charts, stored.Accepted), nil
}

// storedEventsConfig configures storedEvents.
type storedEventsConfig struct {
	emitter *lifecycle.Emitter
	// disabled says that no scripts run.
	disabled bool
	// source is the revision whose scripts run, and rel the one that is created or deleted.
	source, rel *release.Release
}
