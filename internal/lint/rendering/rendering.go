// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package rendering renders a chart for the rules of package lint. It runs the scripts of the chart, so that
// the rules check what an installation deploys.
package rendering

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"

	"github.com/ordered-helm/helm/internal/chartscripts"
	"github.com/ordered-helm/helm/internal/lifecycle"
	"github.com/ordered-helm/helm/internal/redact"
	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/renderevents"
	"github.com/ordered-helm/helm/internal/scripthandlers"
)

// Options say how a chart is rendered.
type Options struct {
	Values    map[string]any
	Namespace string
	// KubeVersion is the Kubernetes version for templates; nil means Helm's default.
	KubeVersion          *chartutil.KubeVersion
	SkipSchemaValidation bool
	// SkipScripts says that the scripts of the chart do not run.
	SkipScripts bool
	// Handlers contains the handlers of the events of rendering, and says how scripts run.
	Handlers scripthandlers.Options
}

// Rendering is a rendered chart.
type Rendering struct {
	// Scripts are the charts with scripts.
	Scripts []*chartscripts.Chart
	// Refused reports that the scripts did not run because they ask for permissions that were not
	// accepted; nil if there is no such chart.
	Refused *chartscripts.PermissionError
	// Failure is the error of a handler, or about what it has changed. The documents are then those
	// of the templates. It is nil if the handlers have succeeded.
	Failure error
	// ChangesValues says whether handlers could change the values. Only then are the values validated
	// here, with the error InvalidValues.
	ChangesValues bool
	InvalidValues error
	// Templates contains the rendered templates by path, without notes, as they were before handlers of
	// post-render. It is nil if the chart cannot be rendered.
	Templates map[string]string
	// Documents are the documents of the templates as the handlers have changed them, followed by those
	// that the handlers have added.
	Documents []Document

	chart  *chart.Chart
	values chartutil.Values
}

// Document is a rendered document.
type Document struct {
	// Source is the path of the template, or of the script that has added the document.
	Source string
	// Index is the index of the document in its template; -1 if it comes from no template.
	Index int
	Text  string
}

// Render renders ch, after Helm has processed its dependencies. It returns an error if the permissions to
// accept are invalid, or if ctx is done. If the chart itself is the reason why it cannot be rendered, Render
// returns what it could render, because Helm's rules report the error.
func Render(ctx context.Context, ch *chart.Chart, o Options) (*Rendering, error) {
	r := &Rendering{chart: ch}
	events := renderevents.Chart{
		Chart: ch, Values: o.Values, Emitter: o.Handlers.Emitter,
		Release: chartutil.ReleaseOptions{Name: "test-release", Namespace: o.Namespace, Revision: 1, IsInstall: true},
	}
	if !o.SkipScripts {
		runtime, err := r.start(ctx, o.Handlers)
		if err != nil {
			return nil, err
		}
		if runtime != nil {
			defer runtime.Close()
			events.Emitter = runtime.Emitter()
		}
	}
	r.ChangesValues = lifecycle.Has(events.Emitter, lifecycle.PreRender)
	events.SkipSchemaValidation = o.SkipSchemaValidation || !r.ChangesValues // Helm's rules validate unchanged values
	if r.Failure == nil {
		r.Failure = events.EmitLoaded(ctx)
	}
	r.render(ctx, events, o.KubeVersion)
	return r, ctx.Err()
}

// start starts the scripts of the chart. It returns nil if they cannot run.
func (r *Rendering) start(ctx context.Context, o scripthandlers.Options) (*scripthandlers.Runtime, error) {
	var err error
	if r.Scripts, err = chartscripts.Read(r.chart); err != nil {
		return nil, nil //nolint:nilerr // package scripts reports the error
	}
	runtime, err := scripthandlers.Start(ctx, r.Scripts, o)
	if refused, is := errors.AsType[*chartscripts.PermissionError](err); is {
		r.Refused = refused
		return nil, nil
	}
	if _, is := errors.AsType[*scripthandlers.ScriptError](err); is {
		r.Failure = err
		return nil, nil
	}
	return runtime, err
}

// render renders the templates with the values that handlers have changed, and lets handlers change the
// documents.
func (r *Rendering) render(ctx context.Context, events renderevents.Chart, kubeVersion *chartutil.KubeVersion) {
	capabilities := chartutil.DefaultCapabilities.Copy()
	if kubeVersion != nil {
		capabilities.KubeVersion = *kubeVersion
	}
	if r.Failure != nil { // the values of the chart are rendered
		events.Emitter, events.SkipSchemaValidation = nil, true
	}
	var err error
	r.values, err = events.RenderValues(ctx, capabilities)
	switch failed, is := errors.AsType[*lifecycle.Error](err); {
	case is:
		r.Failure = failed
	case err != nil && r.values == nil:
		return
	case err != nil:
		r.InvalidValues = err
	}
	if r.Templates, err = r.RenderTemplates(); err != nil {
		r.Templates = nil
		return
	}
	r.Documents = documentsOf(r.Templates)
	if change := events.ChangeManifest(ctx, r.values); change != nil && r.Failure == nil {
		r.changeDocuments(change)
	}
}

// RenderTemplates renders the templates, which may have changed since Render was called. It omits NOTES.txt.
func (r *Rendering) RenderTemplates() (map[string]string, error) {
	e := engine.Engine{LintMode: true}
	files, err := e.Render(r.chart, r.values)
	maps.DeleteFunc(files, func(name, _ string) bool { return strings.HasSuffix(name, "NOTES.txt") })
	return files, err
}

// Redactor returns what removes the contents of the rendered Secrets from text.
func (r *Rendering) Redactor() *redact.Redactor {
	var objects []map[string]any
	for _, d := range r.Documents {
		objects = append(objects, redact.ManifestObjects(d.Text)...)
	}
	return redact.ForObjects(objects)
}

func documentsOf(templates map[string]string) []Document {
	var documents []Document
	for _, name := range slices.Sorted(maps.Keys(templates)) {
		for i, text := range render.Split(templates[name]) {
			documents = append(documents, Document{name, i, text})
		}
	}
	return documents
}
