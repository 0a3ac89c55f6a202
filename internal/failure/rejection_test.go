// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// TestDescribeRejection checks that the values of fields are omitted, and that a remedy is named
// if a field is immutable.
func TestDescribeRejection(t *testing.T) {
	const prefix = `cannot patch "web" with kind Deployment: Deployment.apps "web" is invalid: `
	selector := metav1.LabelSelector{MatchLabels: map[string]string{"app": "b}: c"}}
	path := field.NewPath("spec", "selector")
	invalid := func(errs ...*field.Error) error {
		return fmt.Errorf("cannot patch %q with kind Deployment: %w", "web", apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "web", errs))
	}
	serverSays := func(message string) error {
		err := apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "web", nil)
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeFieldValueInvalid, Field: "spec.selector", Message: message}}
		err.ErrStatus.Message = `Deployment.apps "web" is invalid: spec.selector: ` + message
		return fmt.Errorf("cannot patch %q with kind Deployment: %w", "web", err)
	}
	for _, tt := range []struct {
		name      string
		err       error
		want      string
		immutable bool
	}{
		{"a field", invalid(field.Invalid(path, selector, "field is immutable")), prefix + "spec.selector: field is immutable", true},
		{"two fields", invalid(field.Invalid(path, selector, "field is immutable"), field.Required(path.Child("x"), "")),
			prefix + "[spec.selector: field is immutable, spec.selector.x: Required value]", true},
		{"Go syntax", serverSays(`Invalid value: v1.LabelSelector{MatchLabels:map[string]string{"app":"b"}, MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: field is immutable`),
			prefix + "spec.selector: field is immutable", true},
		{"a list in Go syntax", serverSays(`Invalid value: []string{"None"}: may not change once set`), prefix + "spec.selector: may not change once set", true},
		{"with a diff", serverSays("Forbidden: spec is immutable after creation except resources.requests\n  core.PersistentVolumeClaimSpec{\n  \t... // 4 identical fields\n  }\n"),
			prefix + "spec.selector: Forbidden: spec is immutable after creation except resources.requests", true},
		{"a StatefulSet", serverSays("Forbidden: updates to statefulset spec for fields other than 'replicas' are forbidden"),
			prefix + "spec.selector: Forbidden: updates to statefulset spec for fields other than 'replicas' are forbidden", true},
		{"a string", serverSays(`Invalid value: "a{b}: c": must be a name`), prefix + `spec.selector: Invalid value: "a{b}: c": must be a name`, false},
		{"another reason", serverSays(`Invalid value: {"a":1}: must be empty`), prefix + "spec.selector: must be empty", false},
		{"another error", errors.New("lines\nof text"), "lines of text", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, remedy := DescribeRejection(tt.err)
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if want := tt.immutable; strings.Contains(remedy, "rename the object") != want {
				t.Errorf("the remedy is %q", remedy)
			}
		})
	}
}
