// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"time"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/orderrecord"
)

// WriteGuard decides whether an operation may still write its release. It is implemented by
// *lease.Lease, the lock that the operation holds on the release. The order record of the
// release contains the lease, which names the lock holder.
type WriteGuard interface {
	// Check returns an error if the operation must not write the release any more. The
	// writer calls Check before each attempt to write, while no other write is in progress.
	Check() error
	// Confirm is like Check, but always reads the stored release to find out.
	Confirm() error
	// Lost returns an error if it is already known that the operation has lost the lock.
	Lost() error
	// RenewedLease returns the lease with a new heartbeat. While the operation runs, the
	// writer stores it with the release.
	RenewedLease() *orderrecord.Lease
	// BeforeFinalWrite is called before the writer stores the release in a final state,
	// which has no lease.
	BeforeFinalWrite(state release.Info)
	// AfterWrite is called when the release has been stored. sent is the time at which the
	// request was sent.
	AfterWrite(sent time.Time)
	// IsFinalStateStored reports whether the release was found stored in the given final
	// state. This happens if an earlier write succeeded but its response was lost.
	IsFinalStateStored(state *release.Info) bool
}
