// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releaserecord

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/ordered-helm/helm/internal/process"
)

const (
	// maxLeaseSeconds is for how long a lease may hold a release without being renewed, in
	// seconds.
	maxLeaseSeconds = 3600
	// maxNameLength is how long a name in a lease may be, in bytes.
	maxNameLength = 300
)

// Lease says which process deploys or removes a revision. The process renews it while it
// lives, and takes it out when it is done.
type Lease struct {
	// Revision is the revision that is held.
	Revision int `json:"revision"`
	// ID tells this lease from all others.
	ID string `json:"id"`
	// Operation is what the process does, as in "upgrade".
	Operation string `json:"operation"`
	process.Process
	// StartedAt is when the operation began, and Renewed when the lease was renewed
	// last, by the clock of its process.
	StartedAt time.Time `json:"began"`
	RenewedAt time.Time `json:"renewed"`
	// Seconds is for how long the lease holds without being renewed.
	Seconds int `json:"seconds"`
}

// Duration is for how long the lease holds without being renewed.
func (l *Lease) Duration() time.Duration { return time.Duration(l.Seconds) * time.Second }

// LeaseFor gives the lease by which a revision is held; nil if the record has none or
// that of another revision. A nil record has none.
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
		return fmt.Errorf("its lease names the revision %d", l.Revision)
	case l.ID == "":
		return fmt.Errorf("its lease has no ID")
	case l.Seconds < 1 || l.Seconds > maxLeaseSeconds:
		return fmt.Errorf("its lease is to hold for %d seconds", l.Seconds)
	}
	for _, name := range []string{l.ID, l.Operation, l.Host, l.StartID} {
		if len(name) > maxNameLength || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsGraphic(r) }) {
			return fmt.Errorf("its lease has the name %.100q", name)
		}
	}
	return nil
}
