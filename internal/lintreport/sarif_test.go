// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lintreport_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/lint"
	"github.com/ordered-helm/helm/internal/lint/rule"
	"github.com/ordered-helm/helm/internal/lintreport"
)

// log is the part of SARIF that the tests read.
type log struct {
	Version string
	Runs    []struct {
		Tool struct {
			Driver struct {
				Version string
				Rules   []struct{ ID string }
			}
		}
		Invocations []struct {
			ExecutionSuccessful        bool
			ToolExecutionNotifications []struct{ Message struct{ Text string } }
		}
		Results []struct {
			RuleID    string
			RuleIndex int
			Level     string
			Message   struct{ Text string }
			Locations []struct {
				PhysicalLocation struct {
					ArtifactLocation struct{ URI string }
					Region           *struct{ StartLine, StartColumn int }
				}
			}
		}
	}
}

func TestSARIF(t *testing.T) {
	finding := lint.Finding{Rule: "unknown-layer", Severity: "warning", File: "templates/a b.yaml", Line: 7, Column: 5, Message: "m"}
	inside := finding
	inside.File = "charts/db/templates/a b.yaml"
	charts := []*lintreport.Chart{
		{Path: "./my shop", Findings: []lint.Finding{
			{Rule: "helm/chartfile", Severity: "info", File: "Chart.yaml", Message: "icon"}, finding, inside,
			{Rule: "unmeetable-need", Severity: "error", File: "templates/b.yaml", Message: "n"},
		}},
		{Path: "my shop/charts/db", Findings: []lint.Finding{finding}}, // a duplicate
		{Path: "/abs", Findings: []lint.Finding{{Rule: "helm/dependencies", Severity: "error", Message: "d"}}},
		{Path: "nowhere", Err: errors.New("not there")},
	}
	rules := []rule.Rule{{Name: "unknown-layer", Severity: "warning"}, {Name: "unmeetable-need", Severity: "error"}}
	var out strings.Builder
	if err := lintreport.SARIF(&out, charts, rules, "1.2.3"); err != nil {
		t.Fatal(err)
	}
	var got log
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
		t.Fatal(err)
	}
	run := got.Runs[0]
	if got.Version != "2.1.0" || len(got.Runs) != 1 || run.Tool.Driver.Version != "1.2.3" {
		t.Errorf("got %+v", got)
	}
	if i := run.Invocations; len(i) != 1 || i[0].ExecutionSuccessful || len(i[0].ToolExecutionNotifications) != 1 || i[0].ToolExecutionNotifications[0].Message.Text != "nowhere: not there" {
		t.Errorf("invocations %+v", i)
	}
	var results []string
	for _, r := range run.Results {
		if run.Tool.Driver.Rules[r.RuleIndex].ID != r.RuleID {
			t.Errorf("%s has the index %d", r.RuleID, r.RuleIndex)
		}
		at := r.Locations[0].PhysicalLocation
		line := ""
		if at.Region != nil {
			line = ":7:5"
			if at.Region.StartLine != 7 || at.Region.StartColumn != 5 {
				t.Errorf("region %+v", at.Region)
			}
		}
		results = append(results, r.Level+" "+r.RuleID+" "+at.ArtifactLocation.URI+line)
	}
	want := []string{
		"note helm/chartfile my%20shop/Chart.yaml", "warning unknown-layer my%20shop/templates/a%20b.yaml:7:5",
		"warning unknown-layer my%20shop/charts/db/templates/a%20b.yaml:7:5", "error unmeetable-need my%20shop/templates/b.yaml",
		"error helm/dependencies file:///abs",
	}
	if !slices.Equal(results, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(results, "\n"), strings.Join(want, "\n"))
	}
}
