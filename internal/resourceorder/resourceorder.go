// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package resourceorder determines what is declared about the order and readiness of a resource: by its
// annotations, and by the rules of order files.
package resourceorder

import (
	"cmp"
	"errors"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/chartorder"
	"github.com/ordered-helm/helm/internal/field"
	"github.com/ordered-helm/helm/internal/joinederror"
	"github.com/ordered-helm/helm/internal/objectid"
	"github.com/ordered-helm/helm/internal/ordererror"
	"github.com/ordered-helm/helm/internal/orderfile"
)

// Resource is a rendered resource.
type Resource struct {
	Chart *chartorder.TreeChart
	// File is the path of the template, for messages.
	File   string
	ID     objectid.ID
	Object map[string]any
}

// Order is what is declared about a resource: by its annotations, to which Read adds what order files declare.
type Order struct {
	annotation.ResourceSequencing
	// ExternalDeclarations lists the declarations of external dependencies, those of order files, too.
	ExternalDeclarations []chartorder.External
	// Ignored reports whether the resource has annotations that are ignored, because its chart is not sequenced.
	Ignored bool

	// rules contains the rules of order files that add layers to DependsOn.
	rules map[string]orderfile.Reference
}

// Reader reads what is declared about the resources of a release.
type Reader struct {
	// Rules evaluates the order files. It can be nil.
	Rules *orderfile.Evaluation
	// WrittenKeys contains the keys of annotations as their templates contain them, for
	// messages, if the keys in resources are in canonical form instead. It can be nil.
	WrittenKeys map[AnnotationKey]string
}

// AnnotationKey is the key of an annotation in a template. Object is the kind and the name of
// the object, as in objectid.ID.String.
type AnnotationKey struct{ File, Object, Key string }

// Read returns what is declared about r. The error joins those of all declarations; the order
// contains the valid ones.
func (rd Reader) Read(r Resource) (Order, error) {
	o, err := readAnnotations(r)
	var problems []error
	for _, err := range joinederror.Split(err) {
		if value, ok := errors.AsType[*annotation.ValueError](err); ok {
			value.Key = rd.writtenKey(r, value.Key)
		}
		problems = append(problems, &ordererror.ResourceError{File: r.File, ID: r.ID, Err: err})
	}
	for _, need := range o.External {
		reason := chartorder.Reason{File: r.File, Key: rd.writtenKey(r, o.KeyOfExternal(need)), Value: need, Resource: r.ID.String()}
		o.ExternalDeclarations = append(o.ExternalDeclarations, chartorder.External{Need: need, Timeout: o.ExternalTimeout, Reason: reason})
	}
	problems = append(problems, rd.applyRules(r, &o))
	return o, errors.Join(problems...)
}

// Reason returns the declaration because of which r depends on a layer. o is the result of Read.
func (rd Reader) Reason(r Resource, o *Order, layer string) chartorder.Reason {
	if rule, is := o.rules[layer]; is {
		return chartorder.ReasonOfRule(rule, r.ID.String())
	}
	return chartorder.Reason{File: r.File, Key: rd.writtenKey(r, o.KeyOf(layer)), Value: layer, Resource: r.ID.String()}
}

// writtenKey returns the key of an annotation of r as its template contains it.
func (rd Reader) writtenKey(r Resource, key string) string {
	if len(rd.WrittenKeys) == 0 {
		return key
	}
	return cmp.Or(rd.WrittenKeys[AnnotationKey{r.File, r.ID.String(), key}], key)
}

// readAnnotations returns what the annotations of r declare. If the declared order
// of the chart does not apply, it only sets Ignored.
func readAnnotations(r Resource) (Order, error) {
	metadata := field.Map(r.Object, "metadata")
	annotations := field.Map(metadata, "annotations")
	if misplaced, is := metadata["runHooksInParallel"]; is {
		return Order{}, &annotation.ValueError{
			Key: "metadata.runHooksInParallel", Value: misplaced, Kind: annotation.Misplaced,
			Reason: "has no effect in a template: move runHooksInParallel into Chart.yaml",
		}
	}
	if !r.Chart.Sequenced {
		var o Order
		for key := range annotations {
			o.Ignored = o.Ignored || annotation.IsSequencingKey(key) && !r.Chart.Chart.OptedOut
		}
		return o, nil
	}
	sequencing, err := annotation.ReadResourceSequencing(annotations)
	return Order{ResourceSequencing: sequencing}, err
}
