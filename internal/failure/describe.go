// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"errors"
	"fmt"
	"strings"
)

// maxDescription is how many bytes of a failure a release keeps.
const maxDescription = 1000

// Description is a failure in the words that the release record keeps: one line of
// limited length, unless it is an error of Helm's own.
func Description(failure error) string {
	line := ""
	var deploy *DeployError
	var removal *RemovalError
	var hook *HookError
	switch {
	case errors.As(failure, &deploy):
		line = deploy.Summary()
	case errors.As(failure, &removal):
		line = removal.Summary()
	case errors.As(failure, &hook):
		return strings.Replace(failure.Error(), hook.Error(), hook.Summary(), 1)
	default:
		return failure.Error()
	}
	if len(line) > maxDescription {
		return strings.ToValidUTF8(line[:maxDescription], "") + "…"
	}
	return line
}

// PermissionError says that the account may not write some of the resources. It is found
// before anything is changed.
type PermissionError struct {
	// Denied are what it may not do, each as "create Deployment in namespace shop",
	// sorted.
	Denied []string
}

func (e *PermissionError) Error() string {
	return fmt.Sprintf("this account is not allowed to %s; nothing was changed: "+
		"grant the permission, or use `kubectl auth can-i` for details", strings.Join(e.Denied, ", or "))
}
