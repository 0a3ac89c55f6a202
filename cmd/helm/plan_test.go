// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/pkg/action"
)

// TestPrintPlan checks the output of plan and its exit code.
func TestPrintPlan(t *testing.T) {
	object := func(what action.PreviewAction) []action.PreviewObject {
		return []action.PreviewObject{{Action: what, APIVersion: "v1", Kind: "ConfigMap", Name: "a"}}
	}
	for _, tt := range []struct {
		name    string
		preview action.Preview
		code    int
	}{
		{"nothing", action.Preview{}, 0},
		{"changes", action.Preview{Changes: true, First: object(action.PreviewCreate)}, 2},
		{"what would fail", action.Preview{Changes: true, Fails: true, First: object(action.PreviewFail)}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, format := range []string{"text", "json"} {
				var out bytes.Buffer
				err := (&app{out: &out}).printPlan(&tt.preview, nil, &planOptions{format: format, all: true})
				if code := codeOf(err); code != tt.code || out.Len() == 0 {
					t.Errorf("%s: exit code %d, %q", format, code, out.String())
				}
				if isJSON := json.Valid(out.Bytes()); isJSON != (format == "json") {
					t.Errorf("%s: it is JSON: %v", format, isJSON)
				}
			}
		})
	}
}

func codeOf(err error) int {
	if err == nil {
		return 0
	}
	return exitCode(err)
}

// TestPlanWithoutACluster checks that plan fails like upgrade if there is no cluster.
func TestPlanWithoutACluster(t *testing.T) {
	dir := writeChart(t, map[string]string{"Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n"})
	if got := runHelm(t, "plan", "shop", dir); got.code != 1 || !strings.HasPrefix(got.stderr, "Error: ") || got.stdout != "" {
		t.Errorf("%+v", got)
	}
	if got := runHelm(t, "plan", "shop", dir, "-o", "yaml"); got.code != 1 || !strings.Contains(got.stderr, "must be one of: text, json") {
		t.Errorf("%+v", got)
	}
	if got := runHelm(t, "plan", "shop", dir, "--context", "-1"); got.code != 1 || got.stdout != "" {
		t.Errorf("%+v", got)
	}
	if got := runHelm(t, "plan", "shop"); got.code != 1 || !strings.Contains(got.stderr, "requires 2 arguments") {
		t.Errorf("%+v", got)
	}
	if got := runHelm(t, "plan", "--help"); strings.Contains(got.stdout, "--dry-run") || !strings.Contains(got.stdout, "--install") {
		t.Errorf("%+v", got)
	}
}
