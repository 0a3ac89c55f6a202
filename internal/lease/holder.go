// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package lease locks releases: it says which process works on a release, finds out
// whether that process is still alive, takes over the releases of dead ones, and ends an
// operation that has lost its release (docs/reference.md, "Who holds a release").
package lease

import (
	"fmt"
	"time"

	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/releaserecord"
)

// Holder is the process that works on a release (docs/reference.md, "Who holds a
// release").
type Holder struct {
	// Operation is what it does, as in "upgrade".
	Operation string `json:"operation"`
	// Host and PID identify the process, as its machine names them.
	Host string `json:"host"`
	PID  int    `json:"pid"`
	// Began is when the operation began, and Renewed the time of its last heartbeat, by
	// the clock of its machine.
	Began   time.Time `json:"began"`
	Renewed time.Time `json:"renewed"`
	// Dead is whether the process has certainly ended without ending the operation.
	// Expired is whether the last heartbeat is so long ago that the process is considered
	// dead.
	Dead    bool `json:"dead"`
	Expired bool `json:"expired"`
}

// HolderOf is the process that works on a revision of a release; nil if there is none, or
// if it is not known, as for an operation of stock Helm.
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

func newHolder(lease *releaserecord.Lease) *Holder {
	dead := lease.HasExited()
	return &Holder{
		Operation: lease.Operation, Host: lease.Host, PID: lease.PID, Began: lease.StartedAt, Renewed: lease.RenewedAt,
		Dead: dead, Expired: dead || time.Since(lease.RenewedAt) > lease.Duration(),
	}
}

// leaseOf is the lease of a revision; nil if it has none that can be read.
func leaseOf(rel *release.Release) *releaserecord.Lease {
	rec, err := releaserecord.Read(rel)
	if err != nil {
		return nil
	}
	return rec.LeaseFor(rel.Version)
}

// String names the holder, as in "helm upgrade on build-7 (process 4711)".
func (h *Holder) String() string {
	return fmt.Sprintf("helm %s on %s (process %d)", h.Operation, h.Host, h.PID)
}

// Age says for how long the holder has been working, and when its last heartbeat was.
func (h *Holder) Age() string {
	return fmt.Sprintf("started %s ago, last heartbeat %s ago", age(h.Began), age(h.Renewed))
}

// age is how long ago a time was; 0 for a time of a clock that is ahead.
func age(since time.Time) string { return duration.HumanDuration(max(0, time.Since(since))) }
