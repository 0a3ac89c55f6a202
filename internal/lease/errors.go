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
	// Helm.
	Holder *Holder
	// Helm is what stock Helm says of it; nil where it goes on.
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
		text += ", and its record does not say who works on it: it may be a Helm of another make that still runs; " +
			"if you know that nobody does, --takeover=force takes the release over"
	case e.takeover == TakeoverNever && h.Expired:
		text += fmt.Sprintf(", by %s, %s: without --takeover=never it would be taken for dead, and the release be taken over", h, h.Age())
	default:
		text += fmt.Sprintf(", by %s, %s: wait for its end, or end it there", h, h.Age())
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
		return fmt.Sprintf("the record of revision %d of release %s is gone: somebody has uninstalled the release, or deleted its record or its whole namespace: "+
			"this operation has stopped, and records and undoes nothing more", e.Revision, e.Release)
	}
	by := "another operation"
	if e.By != nil {
		by = e.By.String()
	}
	return fmt.Sprintf("release %s was taken over by %s: this operation has stopped at revision %d, and records and undoes nothing more", e.Release, by, e.Revision)
}
