// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"fmt"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/releaserecord"
	"github.com/ordered-helm/helm/internal/text"
)

// Interrupt returns a copy of a revision that is taken over, as it must be recorded: it has
// the status failed and no lease.
func Interrupt(stale *release.Release) *release.Release {
	failed := history.Copy(stale)
	failed.Info.Status, failed.Info.Description = release.StatusFailed, interruption(stale)
	rec, err := releaserecord.Read(stale)
	if err != nil || rec == nil {
		return failed
	}
	if rec = WithoutLease(rec); rec != nil {
		rec.Lease = nil
	}
	if bare, err := releaserecord.WithRecord(stale.Chart, rec); err == nil { // fails only if the record could not be read from this chart
		failed.Chart = bare
	}
	return failed
}

// interruption describes the end of the operation on a revision that is taken over.
func interruption(stale *release.Release) string {
	h := HolderOf(stale)
	if h == nil {
		return fmt.Sprintf("Interrupted: its status was %s", stale.Info.Status)
	}
	return fmt.Sprintf("Interrupted: %s terminated unexpectedly%s", h, progressOf(stale))
}

// progressOf describes the progress of the interrupted operation on a revision; empty if it
// is not known.
func progressOf(rel *release.Release) string {
	order, err := history.OrderOf(rel)
	if err != nil || order == nil || !order.Interrupted {
		return ""
	}
	verb := "done"
	if order.Removing {
		verb = "removed"
	}
	return fmt.Sprintf(", %d of %s %s", len(order.Done), text.Count(order.Nodes, "node"), verb)
}

// WithoutLease returns the record to store when the lease is removed: nil if the record was
// only needed for the lease.
func WithoutLease(rec *releaserecord.Record) *releaserecord.Record {
	if rec == nil || !rec.Ordered && rec.Earlier == nil && !history.RunsHooksInParallel(rec.Charts) {
		return nil
	}
	return rec
}

// WarnTakenOver warns that a revision is taken over.
func WarnTakenOver(events *event.Sink, stale *release.Release) {
	who := "its record names no lock holder"
	if h := HolderOf(stale); h != nil {
		who = fmt.Sprintf("%s terminated unexpectedly (%s%s)", h, h.Age(), progressOf(stale))
	}
	events.Warnf("revision %d of release %s is %s, but %s; taking over the release", stale.Version, stale.Name, stale.Info.Status, who)
}
