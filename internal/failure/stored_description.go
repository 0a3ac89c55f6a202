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

// Description returns the text that describes a failure in the stored release: the summary
// of a DeployError, RemovalError or HookError, and the complete text of any other error.
func Description(failure error) string {
	line := ""
	if deploy, ok := errors.AsType[*DeployError](failure); ok {
		line = deploy.Summary()
	} else if removal, ok := errors.AsType[*RemovalError](failure); ok {
		line = removal.Summary()
	} else if hook, ok := errors.AsType[*HookError](failure); ok {
		return strings.Replace(failure.Error(), hook.Error(), hook.Summary(), 1)
	} else {
		return failure.Error()
	}
	if len(line) > maxDescription {
		return strings.ToValidUTF8(line[:maxDescription], "") + "…"
	}
	return line
}
