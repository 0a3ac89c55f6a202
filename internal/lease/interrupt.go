// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"fmt"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/text"
)

// Interrupt returns a copy of stale, a revision whose operation terminated unexpectedly, as
// the operation that takes it over must store it: with the status failed and without a
// lease.
func Interrupt(stale *release.Release) *release.Release {
	failed := history.Copy(stale)
	failed.Info.Status, failed.Info.Description = release.StatusFailed, interruption(stale)
	rec, err := orderrecord.Read(stale)
	if err != nil || rec == nil {
		return failed
	}
	if rec = WithoutLease(rec); rec != nil {
		rec.Lease = nil
	}
	if bare, err := orderrecord.WithRecord(stale.Chart, rec); err == nil { // fails only if the record could not be read from this chart
		failed.Chart = bare
	}
	return failed
}

// interruption returns the description to store with a revision that is taken over. It says
// how the operation on it ended.
func interruption(stale *release.Release) string {
	h := HolderOf(stale)
	if h == nil {
		return fmt.Sprintf("Interrupted: its status was %s", stale.Info.Status)
	}
	return fmt.Sprintf("Interrupted: %s terminated unexpectedly%s", h, progressOf(stale))
}

// progressOf describes how many nodes the terminated operation on a revision had finished,
// as in ", 3 of 5 nodes done". It is empty if that is not known.
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

// WithoutLease returns rec if it is needed for more than its lease; otherwise nil. It does
// not remove the lease.
func WithoutLease(rec *orderrecord.Record) *orderrecord.Record {
	if rec == nil || !rec.Ordered && rec.Earlier == nil && !history.RunsHooksInParallel(rec.Charts) {
		return nil
	}
	return rec
}

// WarnTakenOver emits a warning that stale, the last revision of a release, is taken over.
func WarnTakenOver(events *event.Sink, stale *release.Release) {
	who := "its record names no lock holder"
	if h := HolderOf(stale); h != nil {
		who = fmt.Sprintf("%s terminated unexpectedly (%s%s)", h, h.Age(), progressOf(stale))
	}
	events.Warnf("revision %d of release %s is %s, but %s; taking over the release", stale.Version, stale.Name, stale.Info.Status, who)
}
