// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartformat

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/yamledit"
)

// Problem is a problem in the metadata of a chart.
type Problem struct {
	FieldError
	Kind ProblemKind
}

// ProblemKind says what a problem affects.
type ProblemKind int

const (
	// Invalid is the kind of problems because of which the chart cannot be loaded.
	Invalid ProblemKind = iota
	// Removed is the kind of fields that have no effect, because they were removed from the
	// format.
	Removed
	// NotCanonical is the kind of problems because of which Kubernetes does not accept a
	// Chart.yaml as an object, although Helm can load the chart.
	NotCanonical
)

// Inspect returns all problems in the metadata of a chart, in the order of the files. Translate
// returns those of the kind Invalid as an error. In a chart of another format, Inspect checks only
// the apiVersion, as CheckAPIVersion does.
func Inspect(s Source) []Problem {
	if !IsV3(s.ChartYAML) {
		if e, found := errors.AsType[*FieldError](CheckAPIVersion(s)); found {
			return []Problem{{*e, Invalid}}
		}
		return nil
	}
	r := &reader{inspects: true}
	r.read(s)
	return r.problems
}

// CheckAPIVersion returns a *FieldError if a Chart.yaml is written in the format helm.sh/v3, but with
// another apiVersion. Helm would report that the name is missing.
func CheckAPIVersion(s Source) error {
	root, err := yamledit.Parse(string(s.ChartYAML))
	if err != nil || root == nil || isV3(root) || yamledit.Lookup(root, "name") != nil {
		return nil //nolint:nilerr // Helm's loader reports the error
	}
	if n := yamledit.Lookup(root, "kind"); n == nil || n.Value != kind || yamledit.Lookup(root, "metadata", "name") == nil {
		return nil
	}
	at := firstNode(yamledit.Lookup(root, "apiVersion"), root)
	return &FieldError{File: s.chartFile(), Line: at.Line, Column: at.Column, Field: "apiVersion", Problem: "must be " + APIVersion + " in a chart of this format"}
}

// err returns the problems of the kind Invalid.
func (r *reader) err() error {
	var errs []error
	for _, p := range r.problems {
		if p.Kind == Invalid {
			errs = append(errs, &p.FieldError)
		}
	}
	return errors.Join(errs...)
}

func (r *reader) addf(kind ProblemKind, n *yaml.Node, field, format string, args ...any) {
	if r.unreadable && field != "" {
		return
	}
	e := FieldError{File: r.file, Field: field, Problem: fmt.Sprintf(format, args...)}
	if n != nil {
		e.Line, e.Column = n.Line, n.Column
	}
	r.problems = append(r.problems, Problem{e, kind})
}

// notCanonicalf adds a problem of the kind NotCanonical if Chart.yaml is inspected.
func (r *reader) notCanonicalf(n *yaml.Node, field, format string, args ...any) {
	if r.checksObject {
		r.addf(NotCanonical, n, field, format, args...)
	}
}

// checkName checks metadata.name, whose value is n.
func (r *reader) checkName(name string, n *yaml.Node) {
	const field = "metadata.name"
	switch {
	case name == "":
		r.invalidf(n, field, "is required")
	case name == "." || name == ".." || name != filepath.Base(name):
		r.invalidf(n, field, "%q cannot be the name of a directory", name)
	case r.checksObject && len(validation.IsDNS1123Subdomain(name)) > 0:
		r.notCanonicalf(n, field, `%q is not valid as the name of an object: use lower-case letters, digits, "-" and "."`, name)
	}
}

// checkLabel checks whether Kubernetes accepts a label.
func (r *reader) checkLabel(key, text string, n *yaml.Node) {
	if !r.checksObject {
		return
	}
	field := "metadata.labels." + key
	if len(validation.IsQualifiedName(key)) > 0 {
		r.notCanonicalf(n, field, "the key is not valid for a label")
	}
	if len(validation.IsValidLabelValue(text)) > 0 {
		r.notCanonicalf(n, field, `%q is not valid as a label: use at most %d letters, digits, "-", "_" and "."`, text, validation.LabelValueMaxLength)
	}
}

// checkAnnotationKey checks whether Kubernetes accepts the key of an annotation.
func (r *reader) checkAnnotationKey(key string, n *yaml.Node) {
	switch {
	case !r.checksObject:
	case annotation.CanonicalChartKey(key) != key:
		r.notCanonicalf(n, "metadata.annotations."+key, "the key is not valid for an annotation: use %s", annotation.CanonicalChartKey(key))
	case len(validation.IsQualifiedName(strings.ToLower(key))) > 0:
		r.notCanonicalf(n, "metadata.annotations."+key, "the key is not valid for an annotation")
	}
}
