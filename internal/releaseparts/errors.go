// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releaseparts

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// The problems with a part of a release. PartError.Err wraps one of them if the problem is known.
var (
	// ErrMissing says that the Secret does not exist.
	ErrMissing = errors.New("it does not exist")
	// ErrAltered says that the Secret does not contain what was stored.
	ErrAltered = errors.New("it does not contain what was stored")
)

// PartError reports that a part of a stored release cannot be read, written or deleted.
type PartError struct {
	Owner Owner
	// Secret is the name of the Secret.
	Secret string
	// Verb is what failed, as in "read".
	Verb string
	// Err is or wraps ErrMissing, ErrAltered, or the error of the API server, for example because
	// of missing permissions.
	Err error
}

func (e *PartError) Error() string {
	return fmt.Sprintf("cannot %s Secret %s/%s, which contains a part of release %s, revision %d: %v%s",
		e.Verb, e.Owner.Namespace, e.Secret, e.Owner.Release, e.Owner.Revision, e.Err, e.wayOut())
}

// wayOut says what the user can do, as the end of a sentence.
func (e *PartError) wayOut() string {
	switch {
	case errors.Is(e.Err, ErrMissing), errors.Is(e.Err, ErrAltered):
		return fmt.Sprintf("; restore it from a backup, or give up this revision by deleting %s %s: its objects then stay in the cluster, unless another revision has them too",
			e.Owner.Reference.Kind, e.Owner.Reference.Name)
	case apierrors.IsForbidden(e.Err) && e.Verb == "read":
		return fmt.Sprintf("; the account needs the permission to get Secrets in the namespace %s", e.Owner.Namespace)
	case apierrors.IsForbidden(e.Err):
		return fmt.Sprintf("; the account needs the permissions to get, create and delete Secrets in the namespace %s", e.Owner.Namespace)
	}
	return ""
}

func (e *PartError) Unwrap() error { return e.Err }
