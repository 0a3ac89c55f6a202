// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"errors"
	"fmt"
)

// UndoError says that an operation failed, and that undoing it, as --atomic asks for,
// failed too (docs/reference.md, "Atomic").
type UndoError struct {
	// Failure is why the operation failed, Undo why it could not be undone.
	Failure, Undo error
	// Prefix is what Helm says before the two.
	Prefix string
}

func (e *UndoError) Error() string {
	var deploy *DeployError
	if errors.As(e.Failure, &deploy) || errors.As(e.Undo, &deploy) {
		return fmt.Sprintf("%s: %v\n\nundoing it also failed: %v", e.Prefix, e.Failure, e.Undo)
	}
	return fmt.Sprintf("%s: %v: %v", e.Prefix, e.Failure, e.Undo)
}

// Unwrap returns both.
func (e *UndoError) Unwrap() []error { return []error{e.Failure, e.Undo} }
