// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package lease locks releases, so that only one operation works on a release at a time. The
// lock is called a lease: an entry in the order record of the stored release that names the
// lock holder, which is the process that works on the release, and the time of its last
// heartbeat. The package acquires leases, checks whether a lock holder is still alive, takes
// over releases whose lock holder is not, and ends an operation that has lost its lock
// (docs/reference.md, "Release locks"). Package history stores the leases.
package lease

import (
	"fmt"
	"time"

	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/orderrecord"
)

// Holder describes the lock holder of a release: the process that works on the release
// (docs/reference.md, "Release locks").
type Holder struct {
	// Operation is the operation that the process performs, as in "upgrade".
	Operation string `json:"operation"`
	// Host is the name of the machine that the process runs on, and PID its process ID.
	Host string `json:"host"`
	PID  int    `json:"pid"`
	// Began is the time at which the operation began, and Renewed the time of its last
	// heartbeat. Both were read from the clock of the lock holder's machine.
	Began   time.Time `json:"began"`
	Renewed time.Time `json:"renewed"`
	// Dead says whether the process has terminated without removing its lease. This is only
	// known of processes that ran on this machine. Expired says whether Dead is true or the
	// last heartbeat is so old that the lease is no longer valid.
	Dead    bool `json:"dead"`
	Expired bool `json:"expired"`
}

// HolderOf returns the lock holder of a revision; nil if no operation is running on the
// revision, or if its order record names no lock holder, for example because stock Helm is
// working on it.
func HolderOf(rel *release.Release) *Holder {
	if rel.Info == nil || !history.IsInProgress(rel.Info.Status) {
		return nil
	}
	lease := leaseOf(rel)
	if lease == nil {
		return nil
	}
	return newHolder(lease)
}

func newHolder(lease *orderrecord.Lease) *Holder {
	dead := lease.HasExited()
	return &Holder{
		Operation: lease.Operation, Host: lease.Host, PID: lease.PID, Began: lease.StartedAt, Renewed: lease.RenewedAt,
		Dead: dead, Expired: dead || time.Since(lease.RenewedAt) > lease.Duration(),
	}
}

// leaseOf returns the lease of a revision; nil if there is none or the order record cannot
// be used.
func leaseOf(rel *release.Release) *orderrecord.Lease {
	rec, err := orderrecord.Read(rel)
	if err != nil {
		return nil
	}
	return rec.LeaseFor(rel.Version)
}

// String returns a description as in "helm upgrade on build-7 (PID 4711)".
func (h *Holder) String() string {
	return fmt.Sprintf("helm %s on %s (PID %d)", h.Operation, h.Host, h.PID)
}

// Age returns how long ago the operation started and the last heartbeat was sent, as in
// "started 3m ago, last heartbeat 2s ago".
func (h *Holder) Age() string {
	return fmt.Sprintf("started %s ago, last heartbeat %s ago", age(h.Began), age(h.Renewed))
}

// age returns the time since t, as in "5m". It is 0 if t is in the future because the clock
// of the lock holder is ahead.
func age(t time.Time) string { return duration.HumanDuration(max(0, time.Since(t))) }
