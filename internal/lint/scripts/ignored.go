// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package scripts

import (
	"os"
	"path/filepath"

	"helm.sh/helm/v3/pkg/ignore"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/chartformat"
	"github.com/ordered-helm/helm/internal/chartscripts"
	"github.com/ordered-helm/helm/internal/lint/problem"
	"github.com/ordered-helm/helm/internal/lint/rule"
	"github.com/ordered-helm/helm/internal/lint/source"
)

// CheckIgnored returns the scripts of a chart, and the file with the permissions for which they ask, that exist
// but are not part of the chart, because .helmignore excludes them. dir is the directory of the root chart.
// Charts whose scripts are not enabled are not checked.
func CheckIgnored(dir string, c *source.Files) []problem.Problem {
	s, isV3 := setting(c)
	if s == nil && !isV3 || s != nil && s.Value != annotation.ScriptsEnabled {
		return nil
	}
	dir = filepath.Join(dir, filepath.FromSlash(c.Prefix))
	var f problems
	entries, _ := os.ReadDir(filepath.Join(dir, filepath.FromSlash(chartformat.ScriptsDirectory))) // it need not exist
	exists := hasScripts(c)
	for _, e := range entries {
		if name := chartformat.ScriptsDirectory + e.Name(); chartformat.IsScript(name) && !e.IsDir() {
			exists = true
			f.checkIgnored(c, name, "the script does not run")
		}
	}
	if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(chartscripts.PermissionsFile))); err == nil && exists {
		f.checkIgnored(c, chartscripts.PermissionsFile, "the chart asks for no permissions")
	}
	return f
}

// checkIgnored adds a problem if a file that exists is not part of the chart.
func (f *problems) checkIgnored(c *source.Files, name, consequence string) {
	if c.Data(name) == nil {
		f.add(rule.IgnoredScriptFile, source.Position{File: c.Prefix + name}, ignore.HelmIgnore+" excludes this file, so "+consequence)
	}
}
