// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package statemigration

import "fmt"

// ExistsError reports that the new storage driver already stores a release with the name.
type ExistsError struct {
	Release, Namespace string
	From, To           string
}

func (e *ExistsError) Error() string {
	return fmt.Sprintf("release %s in namespace %s is stored by the storage driver %s and by %s: uninstall one of them first, or delete its stored revisions if its objects belong to the other one",
		e.Release, e.Namespace, e.From, e.To)
}

// TooLargeError reports that the new storage driver cannot store a revision.
type TooLargeError struct {
	Release  string
	Revision int
	Driver   string
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("revision %d of release %s is too large for the storage driver %s: nothing was moved; "+
		"use the storage driver chunked-secret, or upgrade the release with a smaller chart until helm history no longer lists the revision (--history-max)",
		e.Revision, e.Release, e.Driver)
}
