// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package scripts

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ordered-helm/helm/internal/chartscripts"
	"github.com/ordered-helm/helm/internal/lifecycle"
	"github.com/ordered-helm/helm/internal/lint/problem"
	"github.com/ordered-helm/helm/internal/lint/rendering"
	"github.com/ordered-helm/helm/internal/lint/rule"
	"github.com/ordered-helm/helm/internal/lint/source"
	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/scripthandlers"
)

// Origins finds the source files of charts and of rendered documents.
type Origins struct {
	Charts source.ByChart
	// Document returns the position of the document with a source (see rendering.Document).
	Document func(name string) source.Position
}

// CheckRun returns the problems that occurred when the scripts of a chart ran while it was rendered.
func CheckRun(r *rendering.Rendering, o Origins) []problem.Problem {
	var f problems
	if e := r.Refused; e != nil {
		names := make([]string, len(e.Permissions))
		for i, p := range e.Permissions {
			names[i] = string(p)
		}
		f.add(rule.ScriptsNotRun, o.file(r.Scripts, e.Chart, chartscripts.PermissionsFile, 0),
			fmt.Sprintf("no scripts ran, because those of chart %q ask for permissions that were not accepted: %s", e.Chart, strings.Join(names, ", ")))
	}
	if r.Failure != nil {
		p := failure(r, o)
		f.add(p.Rule, p.At, r.Redactor().Text(p.Message))
	}
	return f
}

// failure returns the problem that r.Failure is.
func failure(r *rendering.Rendering, o Origins) problem.Problem {
	prefix := ""
	handler, isHandler := errors.AsType[*lifecycle.Error](r.Failure)
	if isHandler {
		prefix = fmt.Sprintf("a handler of %s failed: ", handler.Event)
	}
	script, isScript := errors.AsType[*scripthandlers.ScriptError](r.Failure)
	change, isChange := errors.AsType[*render.ChangeError](r.Failure)
	switch {
	case isScript && isHandler:
		message := prefix + script.Err.Message
		if len(script.Err.Traceback) > 0 {
			message += "\nstack traceback:\n    " + strings.Join(script.Err.Traceback, "\n    ")
		}
		return problem.Problem{Rule: rule.FailedHandler, At: o.file(r.Scripts, script.Chart, script.Err.File, script.Err.Line), Message: message}
	case isScript: // it failed while it was loaded
		return problem.Problem{Rule: rule.InvalidScript, At: o.file(r.Scripts, script.Chart, script.Err.File, script.Err.Line), Message: script.Err.Message}
	case isChange:
		return problem.Problem{Rule: rule.FailedHandler, At: o.Document(change.Source), Message: change.Err.Error()}
	}
	return problem.Problem{Rule: rule.FailedHandler, At: source.Position{}, Message: r.Failure.Error()}
}

// file returns the position of a line in a file of the chart with a path, such as shop/charts/db.
func (o Origins) file(charts []*chartscripts.Chart, chart, name string, line int) source.Position {
	at := source.Position{Line: line}
	if name == "" { // the position in the script is not known
		name = "ext/lua"
	}
	if i := slices.IndexFunc(charts, func(c *chartscripts.Chart) bool { return c.Path == chart }); i >= 0 {
		if files := o.Charts.Of(charts[i].Chart); files != nil {
			at.File = files.Prefix + name
			return at
		}
	}
	_, below, _ := strings.Cut(chart, "/")
	at.File = path.Join(below, name)
	return at
}
