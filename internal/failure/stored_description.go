// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"errors"
	"strings"
)

// maxDescription is the maximum length in bytes of the description of a failure in a stored
// release, without the ellipsis that marks a cut.
const maxDescription = 1000

// Detailed is an error whose text ends with details, such as a traceback.
type Detailed interface {
	error
	// WithoutDetails returns the text of the error without its details.
	WithoutDetails() string
	// Details returns the lines of the details.
	Details() []string
}

// Description returns the text that describes a failure in the stored release: the summary
// of a DeployError, RemovalError or HookError, the text of a Detailed error without its details, and the
// complete text of any other error.
func Description(failure error) string {
	line := ""
	if deploy, ok := errors.AsType[*DeployError](failure); ok {
		line = deploy.Summary()
	} else if removal, ok := errors.AsType[*RemovalError](failure); ok {
		line = removal.Summary()
	} else if hook, ok := errors.AsType[*HookError](failure); ok {
		return strings.Replace(failure.Error(), hook.Error(), hook.Summary(), 1)
	} else if detailed, ok := errors.AsType[Detailed](failure); ok {
		return strings.Replace(failure.Error(), detailed.Error(), detailed.WithoutDetails(), 1)
	} else {
		return failure.Error()
	}
	if len(line) > maxDescription {
		return strings.ToValidUTF8(line[:maxDescription], "") + "…"
	}
	return line
}
