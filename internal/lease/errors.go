// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"errors"
	"fmt"

	"helm.sh/helm/v3/pkg/release"
)

// ErrPending is Helm's error for a release on which another operation is running.
var ErrPending = errors.New("another operation (install/upgrade/rollback) is in progress")

// HeldError reports that an operation cannot begin because another operation has locked the
// release, or may still be running on it.
type HeldError struct {
	Release  string
	Revision int
	Status   release.Status
	// Holder is the lock holder; nil if the record names none, as with stock Helm.
	Holder *Holder
	// Helm is the error of stock Helm in this case; nil if stock Helm would continue.
	Helm error
	// takeover is the Takeover setting of the operation that cannot begin.
	takeover Takeover
}

// newHeldError returns the error for a revision on which another operation is running, or
// has run since Check read it.
func newHeldError(current *release.Release) *HeldError {
	return &HeldError{Release: current.Name, Revision: current.Version, Status: current.Info.Status, Holder: HolderOf(current), Helm: ErrPending}
}

func (e *HeldError) Error() string {
	text := fmt.Sprintf("revision %d of release %s is %s", e.Revision, e.Release, e.Status)
	switch h := e.Holder; {
	case h == nil:
		text += ", and its record names no lock holder: another implementation of Helm may still be running; " +
			"if you are sure that none is, use --takeover=force to take over the release"
	case e.takeover == TakeoverNever && h.Expired:
		text += fmt.Sprintf(", by %s, %s: it is no longer alive, but --takeover=never prevents taking over the release", h, h.Age())
	default:
		text += fmt.Sprintf(", by %s, %s: wait for it to finish, or stop it there", h, h.Age())
	}
	if e.Helm != nil {
		text = e.Helm.Error() + ": " + text
	}
	return text
}

// Unwrap returns the error of stock Helm.
func (e *HeldError) Unwrap() error { return e.Helm }

// LostError reports that an operation stopped because another operation has taken over its
// release. Either the operation was suspended for so long that it was considered no longer
// alive, or another implementation of Helm ignored the lock. The operation must not change
// or undo anything then.
type LostError struct {
	Release  string
	Revision int
	// By is the process that has taken over the release; nil if it is not known.
	By *Holder
	// Gone says whether the record of the revision no longer exists.
	Gone bool
	// abandoned is the revision of this operation as this operation must store it; nil if
	// the operation that took over the release stores it.
	abandoned *release.Release
}

func (e *LostError) Error() string {
	if e.Gone {
		return fmt.Sprintf("the record of revision %d of release %s no longer exists: the release was uninstalled, or its record or namespace was deleted; "+
			"this operation stopped without recording or undoing anything further", e.Revision, e.Release)
	}
	by := "another operation"
	if e.By != nil {
		by = e.By.String()
	}
	return fmt.Sprintf("release %s was taken over by %s; this operation stopped at revision %d without recording or undoing anything further", e.Release, by, e.Revision)
}
