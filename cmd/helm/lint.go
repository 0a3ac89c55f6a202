// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/cli/values"
	"helm.sh/helm/v3/pkg/lint/support"

	"github.com/ordered-helm/helm/internal/lintreport"
	"github.com/ordered-helm/helm/internal/terminalsafe"
	"github.com/ordered-helm/helm/pkg/action"
)

const lintHelp = `
Check charts for errors and for violations of best practices. The rules are those of
stock Helm, and additional ones for order, readiness, hooks and scripts, which docs/lint.md lists.

    $ helm lint ./shop
    $ helm lint ./shop --strict --with-subcharts -f production.yaml
    $ helm lint shop-1.2.0.tgz
    $ helm lint ./shop --order order.yaml        with an order file
    $ helm lint ./shop -o sarif > lint.sarif     for code review tools

A finding that prevents a chart from being installed is an [ERROR], and the command
exits with code 1. A violation of best practices, or a probable mistake, is a [WARNING].
-o json and -o sarif print the findings for other programs, with the same exit codes.

The scripts of a chart run, as in helm template. If they ask for permissions, they run only
with --accept-perms or --yes.
`

func newLintCmd(a *app) *cobra.Command {
	client := action.NewLint()
	vals := &values.Options{}
	var kubeVersion, format string
	cmd := &cobra.Command{
		Use:   "lint PATH",
		Short: "check a chart for mistakes",
		Long:  lintHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if client.KubeVersion, err = parseKubeVersion(kubeVersion); err != nil {
				return err
			}
			if client.KubeVersion == nil { // otherwise, Helm's rules use a version that only the linker sets
				client.KubeVersion = &chartutil.DefaultCapabilities.KubeVersion
			}
			return a.lint(cmd.Context(), lintRequest{client, vals, args, format})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&client.Strict, "strict", false, "treat warnings as errors")
	f.BoolVar(&client.WithSubcharts, "with-subcharts", false, "also check the charts in the charts directory")
	f.BoolVar(&client.Quiet, "quiet", false, "print only warnings and errors")
	f.BoolVar(&client.SkipSchemaValidation, "skip-schema-validation", false, "do not validate values against the JSON schemas of the charts")
	f.StringVar(&kubeVersion, "kube-version", "", "Kubernetes version to check for")
	formats := outputChoiceFlag("how the findings are printed", []string{"text", "json", "sarif"}, "for people", "for other programs", "for code review tools")
	formats.usage = "[not in stock Helm] " + formats.usage
	formats.add(cmd, &format)
	addOrderFlag(cmd, &client.OrderFile)
	addValueFlags(f, vals)
	addScriptFlags(cmd, &client.ScriptOptions, &permissionQuestion{}) // pipelines expect no question
	return cmd
}

// lintRequest contains the arguments of helm lint.
type lintRequest struct {
	client *action.Lint
	values *values.Options
	paths  []string
	format string
}

func (a *app) lint(ctx context.Context, r lintRequest) error {
	client, paths := r.client, r.paths
	if len(paths) == 0 {
		paths = []string{"."}
	}
	given := len(paths)
	if client.WithSubcharts {
		paths = append(paths, subcharts(paths)...)
	}
	client.Namespace, client.Quietly = a.settings.Namespace(), withoutLog
	merged, err := r.values.MergeValues(a.getters(ctx))
	if err != nil {
		return err
	}
	var report strings.Builder
	var printed []*action.LintedChart
	failed, hasProblems := 0, false
	reported := reportedFindings{}
	for i, path := range paths {
		if i == given {
			client.OrderFile = nil // its paths are relative to the charts that contain the subcharts
		}
		chart := client.CheckWithContext(ctx, path, merged)
		chart.DeleteFunc(func(f action.LintFinding) bool { return !client.Strict && reported.hasMilder(path, f) })
		result := chart.Result(client.Strict)
		if len(result.Errors) > 0 {
			failed++
		}
		if client.WithSubcharts {
			reported.removeFrom(chart)
			result = chart.Result(client.Strict)
		}
		if action.HasWarningsOrErrors(result) {
			hasProblems = true
		} else if client.Quiet {
			continue
		}
		if client.Quiet {
			chart.Findings = slices.DeleteFunc(chart.Findings, func(f action.LintFinding) bool { return f.Severity == "info" })
		}
		printed = append(printed, chart)
		reportLint(&report, path, result, client.Quiet)
	}
	if r.format == "text" {
		fmt.Fprint(a.out, terminalsafe.Sanitize(report.String()))
	} else if err := a.printFindings(printed, r.format); err != nil {
		return err
	}
	summary := fmt.Sprintf("%d chart(s) linted, %d chart(s) failed", len(paths), failed)
	if failed > 0 {
		return errors.New(summary)
	}
	if r.format == "text" && (!client.Quiet || hasProblems) {
		fmt.Fprintln(a.out, summary)
	}
	return nil
}

// reportedFindings maps each finding in a file, as findingKey identifies it, to its severity. It is
// needed because a subchart is checked twice: as part of its parent, and by itself. It does not
// contain findings of Helm's rules, which do not check subcharts.
type reportedFindings map[string]string

func findingKey(path string, f action.LintFinding) string {
	return fmt.Sprintf("%s:%d:%d: %s", filepath.Join(path, filepath.FromSlash(f.File)), f.Line, f.Column, f.Rule)
}

// hasMilder reports whether f was reported for the parent of the chart at path, but with
// another severity: some findings are errors only in the chart that is installed.
func (r reportedFindings) hasMilder(path string, f action.LintFinding) bool {
	severity := r[findingKey(path, f)]
	return f.Line > 0 && severity != "" && severity != f.Severity
}

// removeFrom removes those findings from c that are in r, and adds the others to r.
func (r reportedFindings) removeFrom(c *action.LintedChart) {
	c.DeleteFunc(func(f action.LintFinding) bool { return f.Line > 0 && r[findingKey(c.Path, f)] != "" })
	for _, f := range c.Findings {
		if !strings.HasPrefix(f.Rule, "helm/") {
			r[findingKey(c.Path, f)] = f.Severity
		}
	}
}

// withoutLog calls do, and discards what it writes to the standard logger.
func withoutLog(do func()) {
	out := log.Writer()
	log.SetOutput(io.Discard)
	defer log.SetOutput(out)
	do()
}

// printFindings prints the findings about charts as JSON or SARIF.
func (a *app) printFindings(charts []*action.LintedChart, format string) error {
	if format == "json" {
		return lintreport.JSON(a.out, charts)
	}
	return lintreport.SARIF(a.out, charts, action.LintRules(), ownVersion())
}

// subcharts returns the paths of all subcharts of the charts at the given paths. It skips
// files that cannot be read.
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
