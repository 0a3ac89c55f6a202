// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package scripts checks the Lua scripts of a chart and the permissions for which they ask (docs/lint.md).
package scripts

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gopkg.in/yaml.v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/chartformat"
	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/chartscripts"
	"github.com/ordered-helm/helm/internal/library"
	"github.com/ordered-helm/helm/internal/lifecycle"
	"github.com/ordered-helm/helm/internal/lint/problem"
	"github.com/ordered-helm/helm/internal/lint/rule"
	"github.com/ordered-helm/helm/internal/lint/source"
	"github.com/ordered-helm/helm/internal/luasandbox"
	"github.com/ordered-helm/helm/internal/scripthandlers"
)

// Contains reports whether a chart, or one of its subcharts, contains scripts.
func Contains(root *source.Files) bool {
	found := false
	root.Walk(func(c *source.Files) { found = found || hasScripts(c) })
	return found
}

func hasScripts(c *source.Files) bool {
	return slices.ContainsFunc(c.Own, func(file *chartloader.BufferedFile) bool { return chartformat.IsScript(file.Name) })
}

// Check returns the problems with the scripts of a chart and their permissions, without calling handlers.
func Check(ctx context.Context, c *source.Files) []problem.Problem {
	var f problems
	f.check(ctx, c)
	return f
}

type problems []problem.Problem

func (f *problems) add(r rule.Rule, at source.Position, message string) {
	*f = append(*f, problem.Problem{Rule: r, At: at, Message: message})
}

func (f *problems) check(ctx context.Context, c *source.Files) {
	contains := hasScripts(c)
	switch s, isV3 := setting(c); {
	case s == nil && !isV3 && contains:
		f.add(rule.ScriptsNotEnabled, source.Position{File: c.Prefix + chartutil.ChartfileName}, fmt.Sprintf("the chart contains scripts in %s, but they are not enabled", chartformat.ScriptsDirectory))
	case s != nil && s.Value != annotation.ScriptsEnabled && s.Value != annotation.ScriptsDisabled:
		f.add(rule.InvalidScript, c.At(chartutil.ChartfileName, s), fmt.Sprintf("the annotation %s is %q: must be %q or %q",
			annotation.Scripts, s.Value, annotation.ScriptsEnabled, annotation.ScriptsDisabled))
	}
	if !contains {
		return
	}
	charts, err := chartscripts.Read(scriptFiles(c))
	if err != nil {
		f.addScriptFileError(c, err)
		return
	}
	f.checkPermissions(c, charts[0])
	f.loadScripts(ctx, c, charts[0])
}

// setting returns the value of the annotation that enables scripts, or nil, and whether the chart is of the
// format helm.sh/v3, in which scripts are enabled by default.
func setting(c *source.Files) (value *yaml.Node, isV3 bool) {
	if chartformat.IsV3(c.Data(chartutil.ChartfileName)) {
		return c.Node("metadata", "annotations", annotation.Scripts), true
	}
	return c.Node("annotations", annotation.Scripts), false
}

// scriptFiles returns the files of a chart that are about scripts, as a chart whose scripts are enabled.
func scriptFiles(c *source.Files) *chart.Chart {
	ch := &chart.Chart{Metadata: &chart.Metadata{Annotations: map[string]string{annotation.Scripts: annotation.ScriptsEnabled}}}
	for _, keys := range [][]string{{"type"}, {"data", "type"}} {
		if n := c.Node(keys...); n != nil && n.Value == library.TypeLibrary {
			ch.Metadata.Type = library.TypeLibrary
		}
	}
	for _, file := range c.Own {
		if chartformat.IsScript(file.Name) || file.Name == chartscripts.PermissionsFile {
			ch.Files = append(ch.Files, &chart.File{Name: file.Name, Data: file.Data})
		}
	}
	return ch
}

// addScriptFileError adds the error with which the scripts cannot be read.
func (f *problems) addScriptFileError(c *source.Files, err error) {
	invalid, is := errors.AsType[*chartscripts.FileError](err)
	if !is {
		return
	}
	r, at := rule.InvalidScript, source.Position{File: c.Prefix + invalid.File, Line: invalid.Line}
	if invalid.File == chartscripts.PermissionsFile {
		r = rule.InvalidPermissions
	}
	f.add(r, at, invalid.Err.Error())
}

// checkPermissions compares the permissions that scripts use with those for which the chart asks.
func (f *problems) checkPermissions(c *source.Files, scripts *chartscripts.Chart) {
	for _, p := range chartscripts.AllPermissions() {
		isRequested, isUsed := slices.Contains(scripts.Permissions, p), false
		for _, file := range scripts.Files {
			line := luasandbox.Uses(file.Name, string(file.Data), p)
			if isUsed = isUsed || line > 0; line > 0 && !isRequested {
				f.add(rule.PermissionNotRequested, source.Position{File: c.Prefix + file.Name, Line: line},
					fmt.Sprintf("this needs the permission %s, for which the chart does not ask", p))
			}
		}
		if isRequested && !isUsed {
			f.add(rule.UnusedPermission, source.Position{File: c.Prefix + chartscripts.PermissionsFile}, fmt.Sprintf("no script uses the permission %s", p))
		}
	}
}

// loadScripts adds the first error that loading the scripts causes, and the handlers that are never called.
func (f *problems) loadScripts(ctx context.Context, c *source.Files, scripts *chartscripts.Chart) {
	handlers, err := scripthandlers.Check(ctx, scripts)
	if failed, is := errors.AsType[*scripthandlers.ScriptError](err); is {
		f.add(rule.InvalidScript, source.Position{File: c.Prefix + failed.Err.File, Line: failed.Err.Line}, failed.Err.Message)
	}
	for _, h := range handlers {
		if scripts.Library && h.Event == lifecycle.PostRender {
			f.add(rule.IgnoredHandler, source.Position{File: c.Prefix + h.File, Line: h.Line}, "a library renders nothing: this handler of post-render is never called")
		}
	}
}
