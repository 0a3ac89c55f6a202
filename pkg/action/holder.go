// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"fmt"
	"time"

	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/ordered-helm/helm/internal/releaserecord"
)

// Holder is who works on a release (docs/reference.md, "Who holds a release").
type Holder struct {
	// Operation is what is done, as in "upgrade".
	Operation string `json:"operation"`
	// Host and PID are the process that does it, as its machine names them.
	Host string `json:"host"`
	PID  int    `json:"pid"`
	// Began is when the operation began, and Renewed when it last gave a sign of life,
	// by the clock of its machine.
	Began   time.Time `json:"began"`
	Renewed time.Time `json:"renewed"`
	// Dead is whether the process has surely ended without an end of the operation;
	// Expired whether no sign of life came for so long that it will be taken for dead.
	Dead    bool `json:"dead"`
	Expired bool `json:"expired"`
}

// HolderOf tells who works on a revision of a release; nil if nobody does, or it is not
// known, as of an operation of stock Helm.
func HolderOf(rel *release.Release) *Holder {
	if rel.Info == nil || !isHeld(rel.Info.Status) {
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

// String names the holder, as in "helm upgrade on build-7 (process 4711)".
func (h *Holder) String() string {
	return fmt.Sprintf("helm %s on %s (process %d)", h.Operation, h.Host, h.PID)
}

// Age says since when the holder works, and when it was last heard of.
func (h *Holder) Age() string {
	return fmt.Sprintf("for %s, last heard of %s ago", age(h.Began), age(h.Renewed))
}

// age is how long ago a time was, in short; of another machine's clock it may be none.
func age(since time.Time) string { return duration.HumanDuration(max(0, time.Since(since))) }
