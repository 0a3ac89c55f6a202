// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/cli/values"
	"helm.sh/helm/v3/pkg/getter"
	"helm.sh/helm/v3/pkg/lint/support"

	"github.com/ordered-helm/helm/pkg/action"
)

const lintHelp = `
Check charts for what would go wrong, and for what is not good practice.

    $ helm lint ./shop
    $ helm lint ./shop --strict --with-subcharts -f production.yaml
    $ helm lint shop-1.2.0.tgz

What would keep a chart from being installed is an [ERROR], and ends the command
with exit code 1; what is against good practice is a [WARNING].
`

func newLintCmd(a *app) *cobra.Command {
	client := action.NewLint()
	vals := &values.Options{}
	var kubeVersion string
	cmd := &cobra.Command{
		Use:   "lint PATH",
		Short: "check a chart for mistakes",
		Long:  lintHelp,
		RunE: func(_ *cobra.Command, args []string) error {
			if kubeVersion != "" {
				parsed, err := chartutil.ParseKubeVersion(kubeVersion)
				if err != nil {
					return fmt.Errorf("invalid kube version '%s': %w", kubeVersion, err)
				}
				client.KubeVersion = parsed
			}
			return a.lint(client, vals, args)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&client.Strict, "strict", false, "take warnings for errors")
	f.BoolVar(&client.WithSubcharts, "with-subcharts", false, "check the charts in the charts folder too")
	f.BoolVar(&client.Quiet, "quiet", false, "print warnings and errors alone")
	f.BoolVar(&client.SkipSchemaValidation, "skip-schema-validation", false, "do not check values by the charts' JSON schemas")
	f.StringVar(&kubeVersion, "kube-version", "", "version of Kubernetes to check for")
	addValueFlags(f, vals)
	return cmd
}

func (a *app) lint(client *action.Lint, vals *values.Options, paths []string) error {
	if len(paths) == 0 {
		paths = []string{"."}
	}
	if client.WithSubcharts {
		paths = append(paths, subcharts(paths)...)
	}
	client.Namespace = a.settings.Namespace()
	merged, err := vals.MergeValues(getter.All(a.settings))
	if err != nil {
		return err
	}
	var report strings.Builder
	failed, remarkable := 0, false
	for _, path := range paths {
		result := client.Run([]string{path}, merged)
		if action.HasWarningsOrErrors(result) {
			remarkable = true
		} else if client.Quiet {
			continue
		}
		reportLint(&report, path, result, client.Quiet)
		if len(result.Errors) > 0 {
			failed++
		}
	}
	fmt.Fprint(a.out, report.String())

	summary := fmt.Sprintf("%d chart(s) linted, %d chart(s) failed", len(paths), failed)
	if failed > 0 {
		return errors.New(summary)
	}
	if !client.Quiet || remarkable {
		fmt.Fprintln(a.out, summary)
	}
	return nil
}

// subcharts finds what is in the charts folders of charts, down to the last one.
// What cannot be read is passed over.
func subcharts(paths []string) []string {
	var found []string
	for _, p := range paths {
		_ = filepath.WalkDir(filepath.Join(p, "charts"), func(path string, entry fs.DirEntry, _ error) error {
			switch {
			case entry == nil:
			case entry.Name() == chartutil.ChartfileName:
				found = append(found, filepath.Dir(path))
			case strings.HasSuffix(path, ".tgz"), strings.HasSuffix(path, ".tar.gz"):
				found = append(found, path)
			}
			return nil
		})
	}
	return found
}

func reportLint(report *strings.Builder, path string, result *action.LintResult, quiet bool) {
	fmt.Fprintf(report, "==> Linting %s\n", path)
	if len(result.Messages) == 0 {
		for _, err := range result.Errors {
			fmt.Fprintf(report, "Error %s\n", err)
		}
	}
	for _, m := range result.Messages {
		if !quiet || m.Severity > support.InfoSev {
			fmt.Fprintln(report, m)
		}
	}
	report.WriteString("\n")
}
