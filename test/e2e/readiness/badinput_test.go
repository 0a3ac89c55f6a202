// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"fmt"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// TestInvalidReadinessAnnotations checks that invalid annotations are rejected before anything
// is changed, with an error that names the template, the resource, the key and the value.
func TestInvalidReadinessAnnotations(t *testing.T) {
	t.Parallel()
	const success, failure, timeout = "helm.sh/readiness-success", "helm.sh/readiness-failure", "helm.sh/readiness-timeout"
	for name, tt := range map[string]struct {
		key, value string
		want       []string // the value, and its error
	}{
		"expression without an operator":              {success, `["{.succeeded}"]`, []string{`{.succeeded}`, "missing operator"}},
		"failure expression without an operator":      {failure, `["{.failed}"]`, []string{`{.failed}`, "missing operator"}},
		"expression with an unknown operator":         {success, `["{.succeeded} = 1"]`, []string{`{.succeeded} = 1`, `invalid operator "="`}},
		"expression with a pattern":                   {success, `["{.phase} =~ Run.*"]`, []string{`{.phase} =~ Run.*`, `invalid operator "=~"`}},
		"expression with a brace that is not closed":  {success, `["{.succeeded == 1"]`, []string{`{.succeeded == 1`, "not closed"}},
		"expression with a brace that closes nothing": {success, `[".succeeded} == 1"]`, []string{`.succeeded} == 1`, "unexpected '}'"}},
		"expression with a path that does not parse":  {success, `["{.conditions[?(@.type=)].status} == x"]`, []string{"{.conditions[?(@.type=)].status}", "is not a JSONPath"}},
		"expression without a path":                   {success, `["== 1"]`, []string{`== 1`, "path"}},
		"expression without a value":                  {success, `["{.phase} =="]`, []string{`{.phase} ==`, "value"}},
		"bad expression in a plain string":            {success, `succeeded`, []string{"succeeded", "missing operator"}},
		"bad expression in a JSON list":               {success, `'["a == 1", "b"]'`, []string{`\"b\"`, "missing operator"}},
		"JSON list that does not parse":               {success, `'["a == 1"'`, []string{"a == 1", "JSON"}},
		"list of lists":                               {success, `[["{.succeeded} == 1"]]`, []string{"{.succeeded} == 1", "list"}},
		"map":                                         {success, `{succeeded: 1}`, []string{"succeeded", "map"}},
		"map in a list":                               {failure, `[{failed: 1}]`, []string{"failed", "quote"}},
		"number":                                      {success, `1`, []string{"1", "number"}},
		"timeout of 0":                                {timeout, `"0"`, []string{`"0"`, "greater than 0"}},
		"timeout of 0 seconds":                        {timeout, `0s`, []string{`"0s"`, "greater than 0"}},
		"timeout that is negative":                    {timeout, `-5s`, []string{`"-5s"`, "greater than 0"}},
		"timeout without unit":                        {timeout, `"20"`, []string{`"20"`, "unit"}},
		"timeout that is a number":                    {timeout, `20`, []string{"20", "quote"}},
		"timeout that is a list":                      {timeout, `[20s]`, []string{"20s"}},
		"timeout that is none":                        {timeout, `soon`, []string{`"soon"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			chart := charts.WriteFiles(t, map[string]string{
				"Chart.yaml":          charts.Metadata,
				"templates/job.yaml":  charts.ConfigMap("tested", "helm.sh/layer: tested", fmt.Sprintf("%s: %s", tt.key, tt.value)),
				"templates/next.yaml": charts.ConfigMap("next", "helm.sh/layer: next", "depends-on.helm.sh/layers: tested"),
			})
			want := append([]string{"app/templates/job.yaml", "ConfigMap/tested", tt.key}, tt.want...)
			h.ExpectRejected(t, h.Run("install", "rel", chart, "--wait=ordered"), want...)
		})
	}
}
