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

// AsInterrupted returns a copy of stale, a revision whose operation terminated unexpectedly,
// as the operation that takes over the release must store it: with the status failed, and
// without a lease.
func AsInterrupted(stale *release.Release) *release.Release {
	failed := history.Copy(stale)
	failed.Info.Status, failed.Info.Description = release.StatusFailed, interruptedDescription(stale)
	rec, err := orderrecord.Read(stale)
	if err != nil || rec == nil {
		return failed
	}
	if unlocked, err := orderrecord.WithRecord(stale.Chart, WithoutLease(rec)); err == nil { // cannot fail for a record that was just read
		failed.Chart = unlocked
	}
	return failed
}

// interruptedDescription returns the description that a revision is stored with when it is
// taken over: it says how the operation on it ended.
func interruptedDescription(stale *release.Release) string {
	h := HolderOf(stale)
	if h == nil {
		return fmt.Sprintf("Interrupted: its status was %s", stale.Info.Status)
	}
	return fmt.Sprintf("Interrupted: %s terminated unexpectedly%s", h, progressOf(stale))
}

// progressOf describes how many nodes of the deployment graph the terminated operation on a
// revision had finished, as in ", 3 of 5 nodes done". It is empty if this is not known.
func progressOf(rel *release.Release) string {
	order, err := history.OrderOf(rel)
	if err != nil || order == nil || !order.Interrupted {
		return ""
	}
	verb := "done"
	if order.Removing {
		verb = "deleted"
	}
	return fmt.Sprintf(", %d of %s %s", len(order.Done), text.Count(order.Nodes, "node"), verb)
}

// WithoutLease returns a copy of rec without its lease. It returns nil if the lease is all
// that rec is needed for.
func WithoutLease(rec *orderrecord.Record) *orderrecord.Record {
	if rec == nil || !rec.Ordered && rec.Earlier == nil && rec.HookObjects == nil && !history.DeclaresHooks(rec.Charts) {
		return nil
	}
	unlocked := *rec
	unlocked.Lease = nil
	return &unlocked
}

// WarnTakenOver emits a warning that the operation takes over a release. stale is the last
// revision of the release.
func WarnTakenOver(events *event.Sink, stale *release.Release) {
	who := "its record names no lock holder"
	if h := HolderOf(stale); h != nil {
		who = fmt.Sprintf("%s terminated unexpectedly (%s%s)", h, h.Age(), progressOf(stale))
	}
	events.Warnf("revision %d of release %s is %s, but %s; taking over the release", stale.Version, stale.Name, stale.Info.Status, who)
}
