// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"errors"
	"fmt"
	"strings"
)

// maxDescription is the maximum number of bytes of a failure in the release record.
const maxDescription = 1000

// Description returns the text of a failure to store in the release record: one line of
// limited length, unless it is an error of Helm itself.
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

// PermissionError reports, before anything is changed, that the account does not have all
// permissions that the operation needs.
type PermissionError struct {
	// Denied has the missing permissions, sorted, as in "create Deployment in namespace
	// shop".
	Denied []string
}

func (e *PermissionError) Error() string {
	return fmt.Sprintf("this account is not allowed to %s; nothing was changed: "+
		"grant the permission, or use `kubectl auth can-i` for details", strings.Join(e.Denied, ", or "))
}
