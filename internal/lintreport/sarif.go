// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lintreport

import (
	"io"
	"net/url"
	"path"
	"path/filepath"
	"slices"

	"github.com/ordered-helm/helm/internal/lint"
	"github.com/ordered-helm/helm/internal/lint/rule"
	"github.com/ordered-helm/helm/internal/text"
)

// These types define the parts of SARIF 2.1.0, an OASIS standard, that SARIF writes.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		ColumnKind  string            `json:"columnKind"`
		Results     []sarifResult     `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		InformationURI string      `json:"informationUri"`
		Version        string      `json:"version,omitempty"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string             `json:"id"`
		ShortDescription sarifText          `json:"shortDescription"`
		Help             *sarifText         `json:"help,omitempty"`
		Default          sarifConfiguration `json:"defaultConfiguration"`
	}
	sarifConfiguration struct {
		Level string `json:"level"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifInvocation struct {
		ExecutionSuccessful bool                `json:"executionSuccessful"`
		Notifications       []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level   string    `json:"level"`
		Message sarifText `json:"message"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
	}
)

// helmRules returns a rule for each rule name that lint.FromHelm can assign.
func helmRules() []rule.Rule {
	return []rule.Rule{
		{Name: "helm/chartfile", Severity: "error", Summary: "Helm's own rules for Chart.yaml"},
		{Name: "helm/dependencies", Severity: "error", Summary: "Helm's own rules for the dependencies of a chart"},
		{Name: "helm/templates", Severity: "error", Summary: "Helm's own rules for templates"},
		{Name: "helm/values", Severity: "error", Summary: "Helm's own rules for values"},
	}
}

// SARIF writes the findings about charts in the Static Analysis Results Interchange Format
// (SARIF), version 2.1.0. rules are the rules of package lint, and version is the version of
// this program.
func SARIF(out io.Writer, charts []*Chart, rules []rule.Rule, version string) error {
	rules = slices.Concat(rules, helmRules())
	run := sarifRun{
		Tool: sarifTool{sarifDriver{
			Name: "helm lint", InformationURI: "https://github.com/ordered-helm/helm", Version: version, Rules: sarifRules(rules),
		}},
		ColumnKind: "unicodeCodePoints",
		Results:    []sarifResult{},
	}
	invocation := sarifInvocation{ExecutionSuccessful: true}
	seen := map[resultKey]bool{} // duplicates occur if a chart and its subchart are both in charts
	for _, c := range charts {
		if c.Err != nil {
			invocation.ExecutionSuccessful = false
			invocation.Notifications = append(invocation.Notifications, sarifNotification{
				Level: "error", Message: sarifText{c.Path + ": " + c.Err.Error()},
			})
		}
		for _, f := range c.Findings {
			result := resultOf(rules, c.Path, f)
			if key := keyOf(result); !seen[key] {
				seen[key] = true
				run.Results = append(run.Results, result)
			}
		}
	}
	run.Invocations = []sarifInvocation{invocation}
	return text.WriteJSON(out, sarifLog{
		Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run},
	})
}

func sarifRules(rules []rule.Rule) []sarifRule {
	list := make([]sarifRule, len(rules))
	for i, r := range rules {
		list[i] = sarifRule{ID: r.Name, ShortDescription: sarifText{r.Summary}, Default: sarifConfiguration{levelOf(r.Severity)}}
		if r.Help != "" {
			list[i].Help = &sarifText{r.Help}
		}
	}
	return list
}

func resultOf(rules []rule.Rule, chart string, f lint.Finding) sarifResult {
	physical := sarifPhysical{Artifact: sarifArtifact{uriOf(chart, f.File)}}
	if f.Line > 0 {
		physical.Region = &sarifRegion{StartLine: f.Line, StartColumn: f.Column}
	}
	return sarifResult{
		RuleID:    f.Rule,
		RuleIndex: slices.IndexFunc(rules, func(r rule.Rule) bool { return r.Name == f.Rule }),
		Level:     levelOf(f.Severity),
		Message:   sarifText{f.Message},
		Locations: []sarifLocation{{physical}},
	}
}

// resultKey identifies a result. Two results with the same key are duplicates.
type resultKey struct {
	rule, uri, message string
	region             sarifRegion
}

func keyOf(r sarifResult) resultKey {
	at := r.Locations[0].Physical
	key := resultKey{rule: r.RuleID, uri: at.Artifact.URI, message: r.Message.Text}
	if at.Region != nil {
		key.region = *at.Region
	}
	return key
}

// levelOf returns the SARIF level for a severity of package lint.
func levelOf(severity string) string {
	switch severity {
	case "error", "warning":
		return severity
	}
	return "note"
}

// uriOf returns the URI of a file in the chart with the path chart. If this path is
// relative, the URI is relative, too.
func uriOf(chart, file string) string {
	u := url.URL{Path: path.Join(filepath.ToSlash(chart), file)}
	if filepath.IsAbs(chart) {
		u.Scheme = "file"
	}
	return u.String()
}
