// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/internal/kind"
	"github.com/ordered-helm/helm/internal/text"
)

// remedyRename and remedyRecreate tell the user how to change a field that the API server does not change. The second
// one, which the kind and name of the object follow, is for kinds that can be recreated.
const (
	remedyRename   = "rename the object in the chart"
	remedyRecreate = remedyRename + ", or delete and create it again with --recreate "
)

// invalidObject matches the beginning of the API server's message about an invalid field whose
// value is an object or a list, in JSON or in Go's syntax. The reason follows it.
var invalidObject = regexp.MustCompile(`^Invalid value: [&*\w.\[\]]*[{\[].*[}\]]: `)

// NotRecreatedError reports that an object cannot be changed in place, and why it was not deleted and created
// again although the user or the chart has allowed that (docs/reference.md, "Objects that cannot be changed in
// place").
type NotRecreatedError struct {
	// Rejected is the error with which the API server rejected the change.
	Rejected error
	// Reason says why the object was not recreated, or what failed.
	Reason error
}

func (e *NotRecreatedError) Error() string {
	message, _ := DescribeRejection(e.Rejected)
	return message + "; " + e.Reason.Error()
}

// Unwrap returns both errors.
func (e *NotRecreatedError) Unwrap() []error { return []error{e.Rejected, e.Reason} }

// DescribeRejection describes, in one line, an error with which the API server rejected an object.
// It omits values of fields that are objects or lists, because they can have thousands of
// characters. If a field cannot be changed, remedy says what the user can do; otherwise it is
// empty.
func DescribeRejection(err error) (message, remedy string) {
	message = err.Error()
	status, isStatus := errors.AsType[*apierrors.StatusError](err)
	if !isStatus || status.ErrStatus.Details == nil || is[*NotRecreatedError](err) {
		return text.OneLine(message), ""
	}
	details := status.ErrStatus.Details
	for _, cause := range details.Causes {
		short := shortMessage(cause)
		message = strings.Replace(message, cause.Message, short, 1)
		if saysImmutable(short) {
			remedy = "an immutable field can be set only in a new object: " + RemedyImmutable(details.Group, details.Kind, details.Name)
		}
	}
	return text.OneLine(message), remedy
}

// RemedyImmutable tells the user how to change a field of an object that the API server does not change.
func RemedyImmutable(group, kindName, name string) string {
	if kind.IsNeverRecreated(group, kindName) || kindName == "" || name == "" {
		return remedyRename
	}
	return remedyRecreate + kindName + "/" + name
}

// ImmutableFields returns the fields that the API server does not change according to err, an error with which
// it rejected an object. It returns nil if the server rejected the object for another reason.
func ImmutableFields(err error) []string {
	status, isStatus := errors.AsType[*apierrors.StatusError](err)
	if !isStatus || !apierrors.IsInvalid(status) || status.ErrStatus.Details == nil {
		return nil
	}
	var fields []string
	for _, cause := range status.ErrStatus.Details.Causes {
		if saysImmutable(shortMessage(cause)) && !slices.Contains(fields, cause.Field) {
			fields = append(fields, cause.Field)
		}
	}
	return fields
}

// shortMessage returns the message of a cause without values that are objects or lists.
func shortMessage(cause metav1.StatusCause) string {
	short, _, _ := strings.Cut(cause.Message, "\n") // after a line break, there is a diff of the whole object
	return invalidObject.ReplaceAllString(short, "")
}

// saysImmutable reports whether the API server's message about a field says that the field cannot
// be changed.
func saysImmutable(message string) bool {
	phrases := []string{"immutable", "may not change", "may not be changed", "cannot change", "Forbidden: updates to "}
	return slices.ContainsFunc(phrases, func(phrase string) bool { return strings.Contains(message, phrase) })
}
