// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"errors"
	"fmt"

	"helm.sh/helm/v3/pkg/release"
)

// ErrPending is what Helm says of a release that another operation works on.
var ErrPending = errors.New("another operation (install/upgrade/rollback) is in progress")

// HeldError says that an operation cannot begin because another one works on the release,
// or may do.
type HeldError struct {
	Release  string
	Revision int
	Status   release.Status
	// Holder is the process that works on it; nil if that is not known, as for stock
	// StatusError.
	Holder *Holder
	// StatusError is what stock Helm says of it; nil where it goes on.
	Helm error
	// takeover is what the operation was asked to do.
	takeover Takeover
}

// newHeldError says that others work on a revision, or have done so in the meantime.
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

// Unwrap gives what stock Helm says.
func (e *HeldError) Unwrap() error { return e.Helm }

// LostError says that an operation has stopped because others work on its release: it was
// suspended for so long that they had to consider it dead, or they did not ask. The
// release, in the state in which they found it, is theirs.
type LostError struct {
	Release  string
	Revision int
	// By is the process that works on the release now; nil if that is not known.
	By *Holder
	// Gone is whether the revision is no longer stored at all.
	Gone bool
	// abandoned is the revision as it is to be recorded; nil if others have taken it over.
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
