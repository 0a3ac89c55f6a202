// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"fmt"
	"strings"
)

// PermissionError reports that the account lacks permissions that the operation needs. It
// is returned before anything is changed.
type PermissionError struct {
	// Denied contains the missing permissions, sorted, as in "create Deployment in
	// namespace shop".
	Denied []string
}

func (e *PermissionError) Error() string {
	return fmt.Sprintf("this account is not allowed to %s; nothing was changed: "+
		"grant the permission; `kubectl auth can-i --list` shows what the account is allowed to do", strings.Join(e.Denied, ", or "))
}
