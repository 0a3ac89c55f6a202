// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"errors"
	"fmt"

	"helm.sh/helm/v3/pkg/release"
)

// ErrPending is the error with which Helm rejects a release on which another operation is
// running.
var ErrPending = errors.New("another operation (install/upgrade/rollback) is in progress")

// HeldError reports that an operation cannot begin because another operation has locked the
// release, or may still be running on it.
type HeldError struct {
	Release  string
	Revision int
	Status   release.Status
	// Holder is the lock holder; nil if the order record names none, for example because
	// stock Helm is working on the release.
	Holder *Holder
	// Helm is the error with which stock Helm rejects the release in this case; nil if stock
	// Helm would continue.
	Helm error
	// takeover is the Takeover setting of the operation that cannot begin.
	takeover Takeover
}

// NewHeldError returns the error for a revision on which another operation is running, or
// has run since LockCheck.Run read it.
func NewHeldError(current *release.Release) *HeldError {
	return &HeldError{Release: current.Name, Revision: current.Version, Status: current.Info.Status, Holder: HolderOf(current), Helm: ErrPending}
}

func (e *HeldError) Error() string {
	text := fmt.Sprintf("revision %d of release %s is %s", e.Revision, e.Release, e.Status)
	switch h := e.Holder; {
	case h == nil:
		text += ", and its record names no lock holder: stock Helm may still be working on it; " +
			"if you are sure that no Helm process is, use --takeover=force to take over the release"
	case e.takeover == TakeoverNever && h.Expired:
		text += fmt.Sprintf("; locked by %s, %s: that process is no longer alive, but --takeover=never prevents taking over the release", h, h.Age())
	default:
		text += fmt.Sprintf("; locked by %s, %s: wait for it to finish, or stop that process", h, h.Age())
	}
	if e.Helm != nil {
		text = e.Helm.Error() + ": " + text
	}
	return text
}

// Unwrap returns e.Helm.
func (e *HeldError) Unwrap() error { return e.Helm }

// LostError reports that an operation stopped because another operation has taken over its
// release. Either the operation was suspended for longer than its lease is valid, or stock
// Helm, which does not check the lock, changed the release. After this error, the operation
// must not change anything: it does not record the failure, roll back or clean up.
type LostError struct {
	Release  string
	Revision int
	// By is the new lock holder; nil if it is not known.
	By *Holder
	// Gone says whether the stored revision of this operation no longer exists.
	Gone bool
	// abandoned is the revision of this operation with the status failed, which this
	// operation must still store; nil if the new lock holder stores it.
	abandoned *release.Release
}

func (e *LostError) Error() string {
	if e.Gone {
		return fmt.Sprintf("the stored release %s, revision %d, no longer exists: the release was uninstalled, or its stored revision or namespace was deleted; "+
			"this operation stopped: it records nothing more, and does not roll back or clean up", e.Release, e.Revision)
	}
	by := "another operation"
	if e.By != nil {
		by = e.By.String()
	}
	return fmt.Sprintf("release %s was taken over by %s; this operation stopped at revision %d: it records nothing more, and does not roll back or clean up", e.Release, by, e.Revision)
}
