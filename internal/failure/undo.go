// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package failure

import "fmt"

// UndoError reports that an operation failed, and that the rollback, uninstall or cleanup
// after it also failed, for example with --atomic (docs/reference.md, "Atomic").
type UndoError struct {
	// Failure is the error of the operation. Undo is the error of the rollback, uninstall
	// or cleanup.
	Failure, Undo error
	// Prefix is the text with which Helm's message begins. The two errors follow it.
	Prefix string
}

func (e *UndoError) Error() string {
	if is[*DeployError](e.Failure) || is[*DeployError](e.Undo) {
		return fmt.Sprintf("%s: %v\n\nundoing it also failed: %v", e.Prefix, e.Failure, e.Undo)
	}
	return fmt.Sprintf("%s: %v: %v", e.Prefix, e.Failure, e.Undo)
}

// Unwrap returns both errors.
func (e *UndoError) Unwrap() []error { return []error{e.Failure, e.Undo} }
