// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"time"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/orderrecord"
)

// Guard decides whether an operation is still allowed to write its release. The
// implementation is the lock of package lease. Its lease, an entry in the release record,
// names the operation that has the lock.
type Guard interface {
	// Check returns an error if the operation must no longer write the release. The writer
	// calls it before each attempt to write, while no other write is in progress.
	Check() error
	// Confirm is Check, but always reads the stored release.
	Confirm() error
	// Lost returns an error if it is already known that the operation has lost the lock.
	Lost() error
	// RenewedLease returns the lease with a new heartbeat. The writer stores it with the
	// release for as long as the operation runs.
	RenewedLease() *orderrecord.Lease
	// BeforeConclusion is called before the writer stores state, a final state of the
	// release. The release then has no lease.
	BeforeConclusion(state release.Info)
	// AfterWrite is called when the release was stored. sent is the time at which the
	// request was sent.
	AfterWrite(sent time.Time)
	// IsConcluded reports whether the release is already stored in the given final state,
	// although the answer to the write was lost.
	IsConcluded(state *release.Info) bool
}
