// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package scripts checks the Lua scripts of a chart and the permissions for which they ask (docs/lint.md).
package scripts

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/chartformat"
	"github.com/ordered-helm/helm/internal/chartscripts"
	"github.com/ordered-helm/helm/internal/library"
	"github.com/ordered-helm/helm/internal/lifecycle"
	"github.com/ordered-helm/helm/internal/lint/rule"
	"github.com/ordered-helm/helm/internal/lint/source"
	"github.com/ordered-helm/helm/internal/luasandbox"
	"github.com/ordered-helm/helm/internal/scripthandlers"
)

// Problem is a problem with the scripts of a chart.
type Problem struct {
	Rule    rule.Rule
	At      source.Position
	Message string
}

// Check returns the problems with the scripts of a chart and their permissions.
func Check(c *source.Files) []Problem {
	var f problems
	f.check(c)
	return f
}

type problems []Problem

func (f *problems) add(r rule.Rule, at source.Position, message string) {
	*f = append(*f, Problem{r, at, message})
}

func (f *problems) check(c *source.Files) {
	ch := scriptFiles(c)
	if !slices.ContainsFunc(ch.Files, func(file *chart.File) bool { return chartformat.IsScript(file.Name) }) {
		return
	}
	setting := c.Node("annotations", annotation.Scripts)
	isV3 := chartformat.IsV3(c.Data(chartutil.ChartfileName))
	if isV3 {
		setting = c.Node("metadata", "annotations", annotation.Scripts)
	}
	switch {
	case setting == nil && !isV3:
		f.add(rule.ScriptsNotEnabled, source.Position{File: c.Prefix + chartutil.ChartfileName}, fmt.Sprintf("the chart contains scripts in %s, but they are not enabled", chartformat.ScriptsDirectory))
	case setting != nil && setting.Value != annotation.ScriptsEnabled && setting.Value != annotation.ScriptsDisabled:
		f.add(rule.InvalidScript, c.At(chartutil.ChartfileName, setting), fmt.Sprintf("the annotation %s is %q: must be %q or %q",
			annotation.Scripts, setting.Value, annotation.ScriptsEnabled, annotation.ScriptsDisabled))
	}
	charts, err := chartscripts.Read(ch)
	if err != nil {
		f.addScriptFileError(c, err)
		return
	}
	f.checkPermissions(c, charts[0])
	f.loadScripts(c, charts[0])
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
func (f *problems) loadScripts(c *source.Files, scripts *chartscripts.Chart) {
	ctx := context.Background() //nolint:forbidigo // a check cannot be canceled, and the time of each script is limited
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
