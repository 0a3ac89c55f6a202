// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	helmtime "helm.sh/helm/v3/pkg/time"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/history"
)

// UninstallStart begins an uninstall: it locks the release and records that it is being
// uninstalled. An uninstall creates no revision, but changes the last one.
type UninstallStart struct {
	Store *history.Store
	// Writer writes the last revision.
	Writer *history.Writer
	State  *State
	// Lock locks the release: Writer stores the lease from its next write on. It returns
	// nil if the release cannot have a lease. Unlock removes a lock that is not stored.
	Lock   func() (*Lease, error)
	Unlock func()

	// stored is the last revision as it was before the uninstall.
	stored *release.Release
}

const (
	// maxBegins is the maximum number of attempts to begin an uninstall while other
	// operations create revisions.
	maxBegins = 3
	// withdrawTimeout limits the time for which each attempt waits until another operation
	// withdraws its revision. withdrawInterval is the interval of the checks.
	withdrawTimeout  = 2 * time.Second
	withdrawInterval = 100 * time.Millisecond
)

// Begin records that the release is being uninstalled, before anything is deleted, and
// returns the revisions whose hooks must be recovered. It fails if another operation is
// running on the release. If an operation that creates a revision begins at the same time,
// each detects the other. Both withdraw, and the uninstall tries again when the new
// revision is gone.
func (u *UninstallStart) Begin(ctx context.Context, events *event.Sink) ([]*history.Interrupted, error) {
	expected := u.State.Last
	for begins := 1; ; begins++ {
		err := u.tryBegin(expected)
		if err == nil {
			return u.takeOver(events), nil
		}
		next, meets := errors.AsType[*nextRevisionError](err)
		if !meets || begins == maxBegins || !u.awaitWithdrawal(ctx, next) {
			return nil, err
		}
		expected = u.Previous()
	}
}

// tryBegin records that the release is being uninstalled, if its last revision is stored as
// expected. As in Helm, the uninstall continues if the account is not allowed to record
// that. The stored status then stays unchanged, because no other process could tell whether
// the uninstall has terminated unexpectedly.
func (u *UninstallStart) tryBegin(expected *release.Release) error {
	stored, err := ReadUnchanged(u.Store, expected)
	if err != nil {
		return err
	}
	if u.stored == nil {
		u.stored = stored
	}
	if !u.IsContinued() {
		u.Writer.Change(func(rel *release.Release) { rel.Info.Deleted = helmtime.Now() })
	}
	held, err := u.Lock()
	if err != nil || held == nil {
		return err
	}
	held.SetPrevious(stored)
	return u.record(held)
}

// nextRevisionError reports that tryBegin restored the last revision, because another
// operation created a revision at the same time.
type nextRevisionError struct{ *HeldError }

func (e *nextRevisionError) Unwrap() error { return e.HeldError }

// awaitWithdrawal waits until the other operation has deleted its new revision, which next
// names. It returns false if this does not happen before the timeout.
func (u *UninstallStart) awaitWithdrawal(ctx context.Context, next *nextRevisionError) bool {
	ticker := time.NewTicker(withdrawInterval)
	defer ticker.Stop()
	for until := time.Now().Add(withdrawTimeout); time.Now().Before(until); {
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
		if _, err := u.Store.Read(next.Release, next.Revision); errors.Is(err, driver.ErrReleaseNotFound) {
			return true
		}
	}
	return false
}

// takeOver stores as failed the older revisions that are taken over, and returns all
// revisions whose hooks must be recovered.
func (u *UninstallStart) takeOver(events *event.Sink) []*history.Interrupted {
	interrupted := u.State.ConcludeOlder(u.Store)
	for _, i := range interrupted {
		if i.Writer.Release().Version == u.Writer.Release().Version {
			i.Writer = u.Writer // this writer writes the revision from now on
		}
	}
	if stale := u.State.Stale; stale != nil {
		WarnTakenOver(events, stale)
		interrupted = append(interrupted, &history.Interrupted{Writer: u.Writer, Status: stale.Info.Status})
	}
	return interrupted
}

// record stores the status uninstalling with the lease held, and then checks for a revision
// that was created at the same time. In that case it restores the last revision and returns
// a *nextRevisionError. An operation that creates a revision also stores it first and then
// checks for an uninstall, so the two never both continue.
func (u *UninstallStart) record(held *Lease) error {
	err := u.Writer.Write(func(rel *release.Release) {
		rel.Info.Status, rel.Info.Description = release.StatusUninstalling, "Deletion in progress (or silently failed)"
	})
	if lost := held.Lost(); lost != nil {
		return lost
	}
	if err != nil {
		return u.continueUnrecorded(err)
	}
	rel := u.Writer.Release()
	next, err := u.Store.Read(rel.Name, rel.Version+1)
	if errors.Is(err, driver.ErrReleaseNotFound) || apierrors.IsForbidden(err) {
		return nil
	}
	var other *HeldError
	if err == nil {
		other = &HeldError{Release: rel.Name, Revision: next.Version, Status: next.Info.Status, Holder: HolderOf(next)}
		err = other
	}
	u.Unlock()
	if failed := u.Store.NewWriter(history.Copy(u.Previous())).Write(nil); failed != nil {
		return fmt.Errorf("%w; restoring the record of revision %d also failed: %w", err, rel.Version, failed)
	}
	if other != nil {
		return &nextRevisionError{other}
	}
	return err
}

// continueUnrecorded is called with the error if the uninstall could not be recorded. It
// returns nil, so that the uninstall continues, if the account is not allowed to record it.
func (u *UninstallStart) continueUnrecorded(err error) error {
	if !isFinalAnswer(err) {
		return fmt.Errorf("failed to record that release %s is being uninstalled, so nothing was deleted: %w", u.Writer.Release().Name, err)
	}
	u.Writer.LogFailure(err)
	u.Unlock()
	was := u.Previous().Info
	u.Writer.Change(func(rel *release.Release) { rel.Info.Status, rel.Info.Description = was.Status, was.Description })
	return nil
}

// isFinalAnswer reports whether an error is a response of the server that the same request
// would get again.
func isFinalAnswer(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return false
	}
	switch code := answer.Status().Code; code {
	case http.StatusNotFound, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return false
	default:
		return code >= 400 && code < 500
	}
}

// IsContinued reports whether this uninstall takes over an uninstall that terminated
// unexpectedly.
func (u *UninstallStart) IsContinued() bool {
	return u.State.Stale != nil && u.State.Stale.Info.Status == release.StatusUninstalling
}

// Previous returns the last revision as it must be stored if the uninstall deletes nothing.
func (u *UninstallStart) Previous() *release.Release {
	if u.State.Stale != nil {
		return Interrupt(u.stored)
	}
	return u.stored
}
