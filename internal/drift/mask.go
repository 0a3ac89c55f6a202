// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/redact"
)

const (
	// maskedValue replaces a value in a Secret, and changedMark follows it if the values differ.
	maskedValue = "***"
	changedMark = " (changed)"
)

// Contents returns the contents of the objects of differences, as declared and in the cluster, for a
// redact.Redactor.
func Contents(differences []Difference) []map[string]any {
	var contents []map[string]any
	for _, d := range differences {
		for _, o := range []any{d.Info.Object, d.Live} {
			if u, _ := o.(*unstructured.Unstructured); u != nil {
				contents = append(contents, u.Object)
			}
		}
	}
	return contents
}

// Masked returns the object of a difference with the contents of Secrets masked.
func (d Difference) Masked(redactor *redact.Redactor) Object {
	apiVersion, kind := d.Info.Mapping.GroupVersionKind.ToAPIVersionAndKind()
	o := Object{APIVersion: apiVersion, Kind: kind, Namespace: object.Namespace(d.Info), Name: d.Info.Name, State: d.State}
	if d.Err != nil {
		o.Error = redactor.ServerMessage(d.Err.Error())
	}
	if d.State == Changed && len(d.Fields) == 0 {
		o.Note = "it cannot be compared field by field, because the client libraries do not understand it"
	}
	for _, field := range d.Fields {
		o.Fields = append(o.Fields, field.masked(object.IsKind(d.Info, "Secret"), redactor))
	}
	return o
}

// masked returns the field with the contents of Secrets masked. inSecret says whether it is a field
// of a Secret.
func (f Field) masked(inSecret bool, redactor *redact.Redactor) Field {
	isContent := inSecret && !strings.HasPrefix(f.Path, "metadata.") && f.Path != "type" && f.Path != "immutable" ||
		inSecret && strings.Contains(f.Path, "last-applied-configuration")
	f.Path = redactor.Text(f.Path)
	if isContent {
		f.Declared, f.Live = maskedOrNil(f.Declared), maskedOrNil(f.Live)
	} else {
		f.Declared, f.Live = redactor.Value(f.Declared), redactor.Value(f.Live)
	}
	if live, isText := f.Live.(string); isText && f.Declared == live {
		f.Live = live + changedMark
	}
	return f
}

func maskedOrNil(value any) any {
	if value == nil {
		return nil
	}
	return maskedValue
}
