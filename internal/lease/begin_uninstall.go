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

// UninstallStart begins an uninstall: it locks the release and stores the status
// uninstalling. An uninstall creates no revision, but changes the last one.
type UninstallStart struct {
	Store *history.Store
	// Writer stores the last revision.
	Writer *history.Writer
	State  *LockCheckResult
	// Lock locks the release, so that Writer stores the lease from its next write on. It
	// returns nil if the release cannot contain a lease. Unlock makes Writer stop storing
	// the lease; it does not write the revision.
	Lock   func() (*Lease, error)
	Unlock func()

	// stored is the last revision as it was before the uninstall.
	stored *release.Release
}

const (
	// maxAttempts is the maximum number of attempts to begin an uninstall while other
	// operations create revisions.
	maxAttempts = 3
	// withdrawTimeout limits the time for which each attempt waits until another operation
	// has deleted its new revision again. withdrawInterval is the time between two checks.
	withdrawTimeout  = 2 * time.Second
	withdrawInterval = 100 * time.Millisecond
)

// Begin stores the status uninstalling, before anything is deleted, and returns the
// revisions whose hooks must be recovered. It fails if another operation is running on the
// release. If another operation creates a revision at the same time, both operations may
// notice and withdraw: the other one deletes its new revision, and Begin restores the
// previous status, waits for that deletion, and tries again.
func (u *UninstallStart) Begin(ctx context.Context, events *event.Sink) ([]*history.InterruptedRevision, error) {
	expected := u.State.Last
	for attempt := 1; ; attempt++ {
		err := u.tryBegin(expected)
		if err == nil {
			return u.takeOver(events), nil
		}
		next, hasNext := errors.AsType[*concurrentRevisionError](err)
		if !hasNext || attempt == maxAttempts || !u.awaitWithdrawal(ctx, next) {
			return nil, err
		}
		expected = u.Previous()
	}
}

// tryBegin stores the status uninstalling. It fails if the stored revision has changed since
// expected was read. As in Helm, the uninstall continues without storing the status if the
// account is not allowed to write the revision. It also does so if the release cannot contain
// a lease, because other processes could then not tell whether the uninstall is still running.
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

// concurrentRevisionError reports that another operation created a new revision while
// tryBegin was changing the status of the one before it to uninstalling. tryBegin has undone
// this change.
type concurrentRevisionError struct{ *HeldError }

func (e *concurrentRevisionError) Unwrap() error { return e.HeldError }

// awaitWithdrawal waits until the other operation has deleted its new revision, which next
// names. It returns false if that takes longer than withdrawTimeout.
func (u *UninstallStart) awaitWithdrawal(ctx context.Context, next *concurrentRevisionError) bool {
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

// takeOver stores older revisions as failed (see StoreOlderAsFailed), and returns all
// revisions whose hooks must be recovered.
func (u *UninstallStart) takeOver(events *event.Sink) []*history.InterruptedRevision {
	interrupted := u.State.StoreOlderAsFailed(u.Store)
	for _, i := range interrupted {
		if i.Writer.Release().Version == u.Writer.Release().Version {
			i.Writer = u.Writer // this writer writes the revision from now on
		}
	}
	if stale := u.State.Stale; stale != nil {
		WarnTakenOver(events, stale)
		interrupted = append(interrupted, &history.InterruptedRevision{Writer: u.Writer, Status: stale.Info.Status})
	}
	return interrupted
}

// record stores the status uninstalling with the lease held, and then looks for a revision
// that another operation created at the same time (see CreateNext). If there is one, record
// restores the last revision and returns a *concurrentRevisionError.
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
		return fmt.Errorf("%w; restoring the stored revision %d also failed: %w", err, rel.Version, failed)
	}
	if other != nil {
		return &concurrentRevisionError{other}
	}
	return err
}

// continueUnrecorded handles err, the error of storing the status uninstalling. If the
// server would reject the write every time, for example because the account is not allowed
// to write releases, it returns nil, and the uninstall continues without the stored status.
// Otherwise it returns an error.
func (u *UninstallStart) continueUnrecorded(err error) error {
	if !isFinalResponse(err) {
		return fmt.Errorf("failed to record that release %s is being uninstalled, so nothing was deleted: %w", u.Writer.Release().Name, err)
	}
	u.Writer.LogFailure(err)
	u.Unlock()
	was := u.Previous().Info
	u.Writer.Change(func(rel *release.Release) { rel.Info.Status, rel.Info.Description = was.Status, was.Description })
	return nil
}

// isFinalResponse reports whether err is a response of the server that it would also give to
// a repeated request.
func isFinalResponse(err error) bool {
	var response apierrors.APIStatus
	if !errors.As(err, &response) {
		return false
	}
	switch code := response.Status().Code; code {
	case http.StatusNotFound, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return false
	default:
		return code >= 400 && code < 500
	}
}

// IsContinued reports whether this uninstall continues an uninstall that terminated
// unexpectedly.
func (u *UninstallStart) IsContinued() bool {
	return u.State.Stale != nil && u.State.Stale.Info.Status == release.StatusUninstalling
}

// Previous returns the last revision as it must be stored if the uninstall ends before it
// deletes anything.
func (u *UninstallStart) Previous() *release.Release {
	if u.State.Stale != nil {
		return AsInterrupted(u.stored)
	}
	return u.stored
}
