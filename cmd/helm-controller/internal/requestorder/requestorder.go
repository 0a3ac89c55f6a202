// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package requestorder reads the order that a HelmRequest declares for its charts, and compares it with
// that of releases.
package requestorder

import (
	"encoding/json"
	"fmt"
	"reflect"

	"helm.sh/helm/v3/pkg/release"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/cmd/helm-controller/api/v1alpha1"
	"github.com/ordered-helm/helm/internal/orderfile"
	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/pkg/action"
)

// fileName is the name of the order file of a request, for messages.
const fileName = "spec.order"

// Error reports that the order of a request is invalid.
type Error struct{ Err error }

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// Read returns the order of a request as an order file; nil if it has none. The apiVersion and the kind,
// which can be missing in a request, are added. The error is an *Error.
func Read(r *v1alpha1.HelmRequest) (*action.OrderFile, error) {
	if r.Spec.Order == nil {
		return nil, nil
	}
	content := map[string]any{}
	if err := json.Unmarshal(r.Spec.Order.Raw, &content); err != nil {
		return nil, &Error{fmt.Errorf("%s: %w", fileName, err)}
	}
	for key, value := range map[string]string{"apiVersion": orderfile.APIVersion, "kind": orderfile.Kind} {
		if _, found := content[key]; !found {
			content[key] = value
		}
	}
	text, err := yaml.Marshal(content)
	if err == nil {
		_, err = orderfile.Parse(fileName, r.ReleaseName(), text)
	}
	if err != nil {
		return nil, &Error{err}
	}
	return &action.OrderFile{Name: fileName, Text: text}, nil
}

// IsOrderOf reports whether a release was deployed with an order file, which can be nil, in addition to
// those of its charts.
func IsOrderOf(file *action.OrderFile, rel *release.Release) bool {
	var text string
	if file != nil {
		text = string(file.Text)
	}
	return isSameText(text, recorded(rel))
}

// IsSame reports whether two releases were deployed with the same order file, in addition to those of
// their charts.
func IsSame(a, b *release.Release) bool { return isSameText(recorded(a), recorded(b)) }

// recorded returns the text of the order file that was given for a release; empty if there is none.
func recorded(rel *release.Release) string {
	rec, err := orderrecord.Read(rel)
	if given := rec.GivenOrderFile(); err == nil && given != nil {
		return given.Text
	}
	return ""
}

// isSameText reports whether two texts in YAML have the same content.
func isSameText(a, b string) bool {
	if a == b || a == "" || b == "" {
		return a == b
	}
	var contents [2]any
	for i, text := range []string{a, b} {
		if yaml.Unmarshal([]byte(text), &contents[i]) != nil {
			return false
		}
	}
	return reflect.DeepEqual(contents[0], contents[1])
}
