// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package orderrecord

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/ordered-helm/helm/internal/processid"
)

const (
	// maxLeaseSeconds is the maximum duration of a valid lease.
	maxLeaseSeconds = 3600
	// maxNameLength is the maximum length, in bytes, of each string in a valid lease.
	maxNameLength = 300
)

// Lease is the lock of a release. It names the lock holder: the process that is working on a
// revision. The process renews the lease while it runs, and deletes it when it is finished.
// After the lease has expired, another process can take over the release.
type Lease struct {
	// Revision is the revision that is locked.
	Revision int `json:"revision"`
	// ID distinguishes the lease from all others.
	ID string `json:"id"`
	// Operation is the operation that the process performs, as in "upgrade".
	Operation string `json:"operation"`
	processid.Process
	// StartedAt is the time at which the operation began, and RenewedAt the time at which
	// the lease was last renewed. Both were read from the clock of the lock holder's
	// machine.
	StartedAt time.Time `json:"began"`
	RenewedAt time.Time `json:"renewed"`
	// Seconds is the number of seconds after RenewedAt at which the lease expires.
	Seconds int `json:"seconds"`
}

// Duration returns Seconds as a time.Duration.
func (l *Lease) Duration() time.Duration { return time.Duration(l.Seconds) * time.Second }

// LeaseFor returns the lease of the given revision, or nil if r contains none or if it
// belongs to another revision. r can be nil.
func (r *Record) LeaseFor(revision int) *Lease {
	if r == nil || r.Lease == nil || r.Lease.Revision != revision {
		return nil
	}
	return r.Lease
}

func (l *Lease) check() error {
	switch {
	case l == nil:
		return nil
	case l.Revision < 1:
		return fmt.Errorf("its lease has the invalid revision %d", l.Revision)
	case l.ID == "":
		return fmt.Errorf("its lease has no ID")
	case l.Seconds < 1 || l.Seconds > maxLeaseSeconds:
		return fmt.Errorf("its lease has the invalid duration of %d seconds", l.Seconds)
	}
	for _, name := range []string{l.ID, l.Operation, l.Host, l.StartID} {
		if len(name) > maxNameLength || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsGraphic(r) }) {
			return fmt.Errorf("its lease has the invalid name %.100q", name)
		}
	}
	return nil
}
