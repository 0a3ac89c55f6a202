// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"errors"
	"fmt"

	"gopkg.in/yaml.v3"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/chartformat"
	"github.com/ordered-helm/helm/internal/declaration"
	"github.com/ordered-helm/helm/internal/lint/rule"
	"github.com/ordered-helm/helm/internal/lint/source"
	"github.com/ordered-helm/helm/internal/yamledit"
)

// checkChartFile adds findings about a Chart.yaml, as far as its text alone shows them. It
// needs neither the rendered templates nor values.
func (f *findings) checkChartFile(c *source.Files) {
	f.checkFormat(c)
	isV3 := chartformat.IsV3(c.Data(chartutil.ChartfileName))
	if !isV3 { // in the format helm.sh/v3, unknown fields are errors
		f.checkFields(c, chartutil.ChartfileName, c.Parse(chartutil.ChartfileName), annotation.ChartFieldProblem)
		for _, e := range c.Dependencies() {
			f.checkFields(c, e.File, e.Node, annotation.DependencyFieldProblem)
		}
	}
	annotations := c.Node("annotations")
	if annotations == nil || annotations.Kind != yaml.MappingNode {
		return
	}
	f.checkFields(c, chartutil.ChartfileName, annotations, annotation.ChartKeyProblem)
	for i := 0; i < len(annotations.Content); i += 2 {
		key := annotations.Content[i]
		if isV3 && key.Value != annotation.Sequencing { // checkFormat checks the others
			continue
		}
		f.checkChartAnnotation(c, key, annotations.Content[i+1])
	}
}

// checkFields adds findings about the keys in mapping that have no effect, but were probably
// meant to declare something about order or hooks. problemOf explains what is wrong with a
// key.
func (f *findings) checkFields(c *source.Files, file string, mapping *yaml.Node, problemOf func(string) (string, annotation.ErrorKind)) {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i < len(mapping.Content); i += 2 {
		key := mapping.Content[i]
		if reason, kind := problemOf(key.Value); reason != "" {
			f.addAs(ruleOf(&annotation.ValueError{Kind: kind}), severityIn(c), c.At(file, key), key.Value+": "+reason)
		}
	}
}

// severityIn returns the severity of declarations in the chart c that have no effect: install
// rejects them only in the root chart.
func severityIn(c *source.Files) string {
	if c.Prefix == "" {
		return rule.Error
	}
	return rule.Warning
}

func (f *findings) checkChartAnnotation(c *source.Files, key, value *yaml.Node) {
	at := c.At(chartutil.ChartfileName, key)
	isScalar := yamledit.Resolve(value).Kind == yaml.ScalarNode
	switch {
	case annotation.IsChartList(key.Value):
		if _, _, err := annotation.CanonicalValue(key.Value, value); err != nil {
			f.add(rule.MalformedValue, at, err.Error())
		}
		// checkOrder reports all other errors
	case key.Value == annotation.ExternalTimeout && isScalar: // checkOrder reports invalid values
	case key.Value == annotation.RunHooksInParallel:
		if !isScalar { // checkOrder reports invalid scalars, together with those of the field
			f.add(rule.InvalidHookMode, at, key.Value+": must be true, false or otherChartsOnly")
		}
	case key.Value == annotation.HookScope:
		if !isScalar { // checkOrder reports invalid scalars, together with those of the field
			f.add(rule.InvalidHookScope, at, key.Value+": must be chart or release")
		}
	case key.Value == annotation.Sequencing:
		err, _ := errors.AsType[*annotation.ValueError](annotation.CheckSequencing(map[string]any{key.Value: annotation.DecodeYAML(value)}))
		if err != nil {
			f.addAs(rule.MalformedValue, severityIn(c), at, err.Error())
		}
	default:
		if !isScalar { // Helm's loader converts numbers and booleans to strings
			f.add(rule.AnnotationNotString, at, notString(key.Value, value))
		}
	}
}

func notString(key string, value *yaml.Node) string {
	what := "a number or boolean: quote it"
	switch yamledit.Resolve(value).Kind {
	case yaml.SequenceNode:
		what = "a list: Helm and Kubernetes accept only strings"
	case yaml.MappingNode:
		what = "a map: Helm and Kubernetes accept only strings"
	}
	return fmt.Sprintf("the annotation %s is %s", key, what)
}

// ruleOf returns the rule that reports the error e.
func ruleOf(e *annotation.ValueError) rule.Rule {
	switch e.Kind {
	case annotation.InvalidLayerName:
		return rule.InvalidLayerName
	case annotation.InvalidExternal:
		return rule.InvalidExternalDependency
	case annotation.InvalidExpression:
		return rule.MalformedExpression
	case annotation.InvalidDuration:
		return rule.MalformedDuration
	case annotation.Conflict:
		return rule.ConflictingSpellings
	case annotation.UnknownKey:
		return rule.UnknownKey
	case annotation.Misplaced:
		return rule.MisplacedKey
	case annotation.InvalidValue:
		switch e.Key {
		case annotation.HookModeField, annotation.RunHooksInParallel:
			return rule.InvalidHookMode
		case annotation.HookScopeField, annotation.HookScope:
			return rule.InvalidHookScope
		}
	}
	return rule.MalformedValue
}

// addChartFileErrors adds a finding for each error in err, which package chartloader
// returned for the Chart.yaml of the chart with the files c.
func (f *findings) addChartFileErrors(c *source.Files, severity string, err error) {
	for _, problem := range flatten(err) {
		value, ok := errors.AsType[*annotation.ValueError](problem)
		if !ok {
			f.add(rule.MalformedValue, c.At(chartutil.ChartfileName, nil), message(problem))
			continue
		}
		dependency, inDependency := errors.AsType[*declaration.DependencyError](problem)
		at := c.Field("annotations", value.Key)
		switch entries := c.Dependencies(); {
		case inDependency && dependency.Index < len(entries):
			e := entries[dependency.Index]
			at = c.At(e.File, source.KeyNode(e.Node, value.Key))
		case value.Key == annotation.HookModeField, value.Key == annotation.HookScopeField:
			at = c.Field(value.Key)
		}
		f.addAs(ruleOf(value), severity, at, message(problem))
	}
}

// message returns the text of err without the file name of a *declaration.ChartFileError.
func message(err error) string {
	if file, ok := errors.AsType[*declaration.ChartFileError](err); ok {
		return file.Err.Error()
	}
	return err.Error()
}

// flatten returns the individual errors that were joined in err, or in an error that err
// wraps. If none were joined, it returns only err.
func flatten(err error) []error {
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		joined, ok := inner.(interface{ Unwrap() []error })
		if !ok {
			continue
		}
		var all []error
		for _, e := range joined.Unwrap() {
			all = append(all, flatten(e)...)
		}
		return all
	}
	return []error{err}
}
