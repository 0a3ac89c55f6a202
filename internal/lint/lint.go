// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package lint checks charts with Helm's lint rules, and with additional rules about order,
// readiness and hooks (docs/lint.md). Package lintreport writes the findings for other
// programs.
package lint

import (
	"context"
	"errors"
	"slices"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/lint/support"

	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/lint/helmrules"
	"github.com/ordered-helm/helm/internal/lint/source"
	"github.com/ordered-helm/helm/internal/orderfile"
	"github.com/ordered-helm/helm/internal/scripthandlers"
)

// RenderOptions are the settings that affect how Check renders a chart.
type RenderOptions struct {
	Values    map[string]any
	Namespace string
	// KubeVersion is the Kubernetes version for which templates are rendered. If it is
	// nil, Helm's default applies.
	KubeVersion          *chartutil.KubeVersion
	SkipSchemaValidation bool
	// OrderFile is an order file that applies in addition to those of the charts, and before them; nil if
	// there is none. It must be valid: CheckChart returns an error if it is not.
	OrderFile *orderfile.Given
	// Handlers contains the handlers of the events of rendering, and says how the scripts of charts run.
	Handlers scripthandlers.Options
	// Quietly must call render, which renders the chart a second time. Meanwhile it can
	// suppress log messages, because rendering the chart for Helm's rules logs the same
	// messages. If Quietly is nil, nothing is suppressed.
	Quietly func(render func())
}

// forHelm returns the options for Helm's rules.
func (o RenderOptions) forHelm() helmrules.Options {
	return helmrules.Options{Values: o.Values, Namespace: o.Namespace, KubeVersion: o.KubeVersion, SkipSchemaValidation: o.SkipSchemaValidation}
}

func (o RenderOptions) quietly(do func()) {
	if o.Quietly == nil {
		do()
		return
	}
	o.Quietly(do)
}

// Report contains the problems that Check found in a chart.
type Report struct {
	// Helm contains the messages of Helm's rules.
	Helm []support.Message
	// Findings contains the findings of the rules of this package (see Rules), sorted by
	// file and line.
	Findings []Finding
}

// Check checks the chart in the directory dir. The report lists the problems of the chart.
// Check returns an error only if the chart could not be checked.
func Check(ctx context.Context, dir string, o RenderOptions) (*Report, error) {
	original, err := chartloader.DirFiles(dir)
	if err != nil {
		return &Report{Helm: helmrules.CheckUnreadable(dir, o.forHelm())}, nil //nolint:nilerr // Helm's rules report the error
	}
	files := helmrules.Files{Dir: dir, Original: original}
	canonical, err := helmrules.CanonicalFiles(original)
	if err == nil {
		canonical, err = chartloader.WithLibraries(canonical)
	}
	if err != nil {
		r := &Report{}
		if !isAboutFormat(err) { // inspect reports these errors
			r.Helm = []support.Message{support.NewMessage(support.ErrorSev, chartutil.ChartfileName, err)}
		}
		if _, tooLarge := errors.AsType[*chartloader.LimitError](err); tooLarge {
			return r, nil // a chart that exceeds a limit is not checked further
		}
		i, err := inspect(ctx, files, o)
		if err != nil {
			return nil, err
		}
		r.Findings = i.sorted()
		return r, nil
	}
	files.Canonical = canonical
	var i *chartInspection
	if o.quietly(func() { i, err = inspect(ctx, files, o) }); err != nil {
		return nil, err
	}
	r := &Report{Findings: i.sorted()}
	forHelm := o.forHelm()
	if i.rendering != nil {
		forHelm.ValuesChange, forHelm.InvalidValues = i.rendering.ChangesValues, i.rendering.InvalidValues
	}
	if r.Helm, err = helmrules.Check(files, forHelm); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(r.Helm, helmrules.IsAboutListAnnotation) && mentionsOrderKeywords(source.New(original), o.Values) {
		r.Helm = slices.DeleteFunc(r.Helm, helmrules.IsAboutListAnnotation)
	}
	return r, nil
}
