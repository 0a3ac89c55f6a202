// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package lease locks releases, so that only one operation works on a release at a time.
// The lock is the lease: an entry in the stored release that names the process which works
// on the release, and the time of its last heartbeat. The package stores leases, finds out
// whether a lock holder is still alive, takes over releases whose lock holder is no longer
// alive, and ends an operation whose release was taken over (docs/reference.md, "Release
// locks"). Package history writes the release.
package lease

import (
	"fmt"
	"time"

	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/orderrecord"
)

// Holder describes the lock holder of a release: the process that works on it
// (docs/reference.md, "Release locks").
type Holder struct {
	// Operation is the operation of the process, as in "upgrade".
	Operation string `json:"operation"`
	// Host is the name of the machine of the process, and PID the process ID there.
	Host string `json:"host"`
	PID  int    `json:"pid"`
	// Began is the time at which the operation began, and Renewed the time of its last
	// heartbeat. Both come from the clock of the machine of the process.
	Began   time.Time `json:"began"`
	Renewed time.Time `json:"renewed"`
	// Dead says whether the process has certainly terminated unexpectedly, because it ran
	// on this machine and no longer exists. Expired says whether the process is dead, or
	// its last heartbeat is so old that it is considered no longer alive.
	Dead    bool `json:"dead"`
	Expired bool `json:"expired"`
}

// HolderOf returns the lock holder of a revision of a release; nil if no operation is
// running on it, or if its process is not known, as for an operation of stock Helm.
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

// leaseOf returns the lease in the record of a revision; nil if there is none that can be
// read.
func leaseOf(rel *release.Release) *orderrecord.Lease {
	rec, err := orderrecord.Read(rel)
	if err != nil {
		return nil
	}
	return rec.LeaseFor(rel.Version)
}

// String describes the lock holder, as in "helm upgrade on build-7 (process 4711)".
func (h *Holder) String() string {
	return fmt.Sprintf("helm %s on %s (process %d)", h.Operation, h.Host, h.PID)
}

// Age describes when the operation of the lock holder started, and when its last heartbeat
// was.
func (h *Holder) Age() string {
	return fmt.Sprintf("started %s ago, last heartbeat %s ago", age(h.Began), age(h.Renewed))
}

// age returns the time that has passed since a time, as in "5m". It is 0 if the time is in
// the future, because the clock of the lock holder is ahead.
func age(since time.Time) string { return duration.HumanDuration(max(0, time.Since(since))) }
