// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordered-helm/helm/internal/text"
)

// remedyImmutable tells the user how to change a field that the API server does not change.
const remedyImmutable = "an immutable field can be set only in a new object: rename the object in the chart, or delete it and repeat the operation"

// invalidObject matches the beginning of the API server's message about an invalid field whose
// value is an object or a list, in JSON or in Go's syntax. The reason follows it.
var invalidObject = regexp.MustCompile(`^Invalid value: [&*\w.\[\]]*[{\[].*[}\]]: `)

// DescribeRejection describes, in one line, an error with which the API server rejected an object.
// It omits values of fields that are objects or lists, because they can have thousands of
// characters. If a field cannot be changed, remedy says what the user can do; otherwise it is
// empty.
func DescribeRejection(err error) (message, remedy string) {
	message = err.Error()
	status, isStatus := errors.AsType[*apierrors.StatusError](err)
	if !isStatus || status.ErrStatus.Details == nil {
		return text.OneLine(message), ""
	}
	for _, cause := range status.ErrStatus.Details.Causes {
		// After a line break, there is a diff of the whole object.
		short, _, _ := strings.Cut(cause.Message, "\n")
		short = invalidObject.ReplaceAllString(short, "")
		message = strings.Replace(message, cause.Message, short, 1)
		if saysImmutable(short) {
			remedy = remedyImmutable
		}
	}
	return text.OneLine(message), remedy
}

// saysImmutable reports whether the API server's message about a field says that the field cannot
// be changed.
func saysImmutable(message string) bool {
	phrases := []string{"immutable", "may not change", "may not be changed", "cannot change", "Forbidden: updates to "}
	return slices.ContainsFunc(phrases, func(phrase string) bool { return strings.Contains(message, phrase) })
}
