// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/lint/source"
	"github.com/ordered-helm/helm/internal/similar"
	"github.com/ordered-helm/helm/internal/yamledit"
)

// Fields of Chart.yaml that only Ordered Helm knows.
const (
	hookModeField  = "runHooksInParallel"
	dependsOnField = "depends-on"
)

// checkChartFile adds findings about a Chart.yaml, as far as its text alone shows them. It
// needs neither the rendered templates nor values.
func (f *findings) checkChartFile(c *source.Files) {
	root := c.Parse(chartutil.ChartfileName)
	f.checkFields(c, chartutil.ChartfileName, root, hookModeField)
	for _, e := range c.Dependencies() {
		f.checkFields(c, e.File, e.Node, dependsOnField)
	}
	annotations := yamledit.Resolve(yamledit.Lookup(root, "annotations"))
	if annotations == nil || annotations.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i < len(annotations.Content); i += 2 {
		f.checkChartAnnotation(c, annotations.Content[i], annotations.Content[i+1])
	}
}

// checkFields warns about keys in mapping that are probably misspellings of field.
func (f *findings) checkFields(c *source.Files, file string, mapping *yaml.Node, field string) {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return
	}
	normalized := func(key string) string {
		return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(key))
	}
	for i := 0; i < len(mapping.Content); i += 2 {
		key := mapping.Content[i]
		if key.Value != field && similar.Distance(normalized(key.Value), normalized(field)) <= 1 {
			f.addAs(unknownKey, Warning, c.At(file, key), fmt.Sprintf("the unknown field %s is ignored: did you mean %s?", key.Value, field))
		}
	}
}

func (f *findings) checkChartAnnotation(c *source.Files, key, value *yaml.Node) {
	at := c.At(chartutil.ChartfileName, key)
	v := annotation.DecodeYAML(value)
	_, isText := v.(string)
	switch key.Value {
	case annotation.DependsOnSubcharts, annotation.DependsOnSubchartsCanonical:
		if _, _, err := annotation.CanonicalValue(key.Value, value); err != nil {
			f.add(malformedValue, at, err.Error())
		}
		return // checkOrder reports all other errors
	case annotation.RunHooksInParallel:
		if yamledit.Resolve(value).Kind == yaml.ScalarNode {
			return // checkOrder reports invalid scalars, together with those of hookModeField
		}
		f.add(invalidHookMode, at, key.Value+": must be true, false or otherChartsOnly")
		return
	case annotation.Sequencing:
		if v != nil && !isText {
			f.add(malformedValue, at, key.Value+`: must be "enabled" or "disabled", in quotes`)
		}
		return
	}
	switch {
	case annotation.IsSequencingKey(key.Value):
		f.addAs(misplacedKey, Warning, at, key.Value+" has no effect in Chart.yaml: move it to the metadata of a resource in a template")
	default:
		if meant := similarKey(key.Value, annotation.ChartKeys()); meant != "" {
			f.addAs(unknownKey, Warning, at, fmt.Sprintf("the unknown annotation %s is ignored: did you mean %s?", key.Value, meant))
		}
	}
	if v != nil && !isText {
		f.add(annotationNotString, at, notString(key.Value, value))
	}
}

// similarKey returns the key in known that the author of the chart probably meant by the
// unknown key. It returns an empty string if key probably belongs to another tool.
func similarKey(key string, known []string) string {
	if strings.HasPrefix(key, "depends-on.helm.sh/") || strings.HasPrefix(key, "helm.sh/depends-on") {
		if nearest := similar.Nearest(key, known); nearest != "" {
			return nearest
		}
		return annotation.DependsOnSubcharts
	}
	const maxDistance = 2
	lower := strings.ToLower(key)
	i := slices.IndexFunc(known, func(k string) bool { return similar.Distance(lower, k) <= maxDistance })
	if i < 0 || !strings.HasPrefix(lower, "helm.sh/") {
		return ""
	}
	return known[i]
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
func ruleOf(e *annotation.ValueError) Rule {
	switch e.Kind {
	case annotation.InvalidLayerName:
		return invalidLayerName
	case annotation.InvalidExpression:
		return malformedExpression
	case annotation.InvalidDuration:
		return malformedDuration
	case annotation.Conflict:
		return conflictingSpellings
	case annotation.UnknownKey:
		return unknownKey
	case annotation.Misplaced:
		return misplacedKey
	case annotation.InvalidValue:
		switch e.Key {
		case hookModeField, annotation.RunHooksInParallel:
			return invalidHookMode
		}
	}
	return malformedValue
}

// addChartFileErrors adds a finding for each error in err, which package chartloader
// returned for the Chart.yaml of the chart with the files c.
func (f *findings) addChartFileErrors(c *source.Files, severity string, err error) {
	for _, problem := range flatten(err) {
		value, ok := errors.AsType[*annotation.ValueError](problem)
		if !ok {
			f.add(malformedValue, c.At(chartutil.ChartfileName, nil), message(problem))
			continue
		}
		dependency, inDependency := errors.AsType[*chartloader.DependencyError](problem)
		at := c.Field("annotations", value.Key)
		switch entries := c.Dependencies(); {
		case inDependency && dependency.Index < len(entries):
			e := entries[dependency.Index]
			at = c.At(e.File, source.KeyNode(e.Node, dependsOnField))
		case value.Key == hookModeField:
			at = c.Field(hookModeField)
		}
		f.addAs(ruleOf(value), severity, at, message(problem))
	}
}

// message returns the text of err without the file name of a *chartloader.ChartFileError.
func message(err error) string {
	if file, ok := errors.AsType[*chartloader.ChartFileError](err); ok {
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
