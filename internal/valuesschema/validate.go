// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package valuesschema

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
)

// ValidationError says which values do not match the schemas of which charts.
type ValidationError struct {
	// Charts contains the problems of each chart whose schema rejects its values.
	Charts []ChartProblems
}

// ChartProblems contains the problems of the values of one chart.
type ChartProblems struct {
	// Chart is the path of the chart in the tree, such as shop/charts/db.
	Chart string
	// Problems is a list, one item a line. Paths in it begin at the values of the root chart.
	Problems string
}

func (e *ValidationError) Error() string {
	var b strings.Builder
	b.WriteString("values don't meet the specifications of the schema(s) in the following chart(s):")
	for _, c := range e.Charts {
		fmt.Fprintf(&b, "\n%s:\n%s", c.Chart, c.Problems)
	}
	b.WriteString("\n")
	return b.String()
}

// Used reports whether ch or any of its subcharts has a schema that was written as YAML.
func Used(ch *chart.Chart) bool {
	return IsGenerated(ch.Schema) || slices.ContainsFunc(ch.Dependencies(), Used)
}

// Validate validates values against the schemas of ch and its subcharts, as Helm's
// ValidateAgainstSchema does. Unlike that, the error, a *ValidationError, names the charts by
// their paths in the tree, and the paths of the values as users set them.
func Validate(ch *chart.Chart, values map[string]any) error {
	e := &ValidationError{}
	e.validate(ch, values, nil)
	if len(e.Charts) > 0 {
		return e
	}
	return nil
}

// validate adds the problems of ch and its subcharts. at is the path of its values.
func (e *ValidationError) validate(ch *chart.Chart, values map[string]any, at []string) {
	if ch.Schema != nil {
		if problems := problemsOf(ch.Schema, values, at); problems != "" {
			e.Charts = append(e.Charts, ChartProblems{ch.ChartFullPath(), problems})
		}
	}
	for _, sub := range ch.Dependencies() {
		below := append(slices.Clone(at), sub.Name())
		switch own := values[sub.Name()].(type) {
		case nil:
		case map[string]any:
			e.validate(sub, own, below)
		default:
			e.Charts = append(e.Charts, ChartProblems{sub.ChartFullPath(), problemLine(below, fmt.Sprintf("got %T, want object", own))})
		}
	}
}

// problemsOf returns the problems of the values of one chart, or "" if there are none.
func problemsOf(schema []byte, values map[string]any, at []string) string {
	if !IsGenerated(schema) {
		if err := chartutil.ValidateAgainstSingleSchema(values, schema); err != nil {
			return prefixPaths(strings.TrimSpace(err.Error()), at)
		}
		return ""
	}
	err := validateSingle(schema, values)
	if err == nil {
		return ""
	}
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return listProblems(invalid, at)
	}
	return "- " + err.Error()
}

// lineStart matches the start of a line with a problem, up to the path of the value.
var lineStart = regexp.MustCompile(`(?m)^ *- at '`)

// prefixPaths makes the paths in the problems that Helm lists begin at the values of the root chart.
func prefixPaths(problems string, at []string) string {
	return lineStart.ReplaceAllStringFunc(problems, func(start string) string { return start + pointerTo(at) })
}

func validateSingle(schema []byte, values map[string]any) error {
	content, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return err
	}
	v := &validation{named: map[string][][]string{}}
	compiled, err := compile(content, v)
	if err != nil {
		return err
	}
	return v.run(compiled, values)
}
