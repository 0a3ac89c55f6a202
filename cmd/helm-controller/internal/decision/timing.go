// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"time"

	"github.com/ordered-helm/helm/cmd/helm-controller/api/v1alpha1"
)

const (
	// minBackoff and maxBackoff are the times after the first and after many failures until something
	// is tried again.
	minBackoff = 5 * time.Second
	maxBackoff = 10 * time.Minute
	// pollInterval is the time after which the controller looks whether another program has finished.
	pollInterval = 15 * time.Second
)

// Backoff returns the time after which an action is tried again that has failed so many times in succession.
func Backoff(failures int64) time.Duration {
	d := minBackoff
	for range min(failures, 10) - 1 {
		d *= 2
	}
	return min(d, maxBackoff)
}

// decideFailure decides what to do after the last action has failed.
func decideFailure(s State) Decision {
	if !s.Request.DeletionTimestamp.IsZero() {
		return decideFailedDeletion(s)
	}
	if s.Failure.IsPermanent {
		return report(&Status{Phase: Stalled, Reason: s.Failure.Reason, Message: s.Failure.Message}, s.interval())
	}
	return report(&Status{Phase: Failing, Reason: s.Failure.Reason, Message: s.Failure.Message}, Backoff(s.failures()+1))
}

// failures returns how often the last attempt has failed.
func (s State) failures() int64 {
	if a := s.Request.Status.LastAttempt; a != nil && a.Generation == s.Request.Generation {
		return a.Failures
	}
	return 0
}

// isRequested reports whether the request, or its annotation that asks for processing, has changed since it was
// last compared with the release.
func (s State) isRequested() bool {
	return s.Request.Status.CheckedGeneration != s.Request.Generation || s.isAnnotated()
}

func (s State) isAnnotated() bool {
	return s.Request.Annotations[v1alpha1.ReconcileAnnotation] != s.Request.Status.HandledRequest
}

// isByHand reports whether another program has created a revision of the release, or deleted the release. With
// spec.atomic, a failed upgrade is followed by a revision of the rollback.
func (s State) isByHand(revision int64) bool {
	r := s.Request
	if r.Status.Release == nil || revision == r.Status.Release.Revision {
		return false
	}
	if a := r.Status.LastAttempt; a != nil && a.Revision > 0 && (revision == a.Revision || r.Spec.Atomic && a.Failures > 0 && revision == a.Revision+1) {
		return false
	}
	return true
}

// interval returns spec.interval; 0 if there is none.
func (s State) interval() time.Duration {
	if i := s.Request.Spec.Interval; i != nil {
		return i.Duration
	}
	return 0
}

// isDue reports whether the release is to be compared with the request, because the interval has passed or
// because the annotation asks for it.
func (s State) isDue() bool {
	return s.isAnnotated() || s.interval() > 0 && s.timeUntilDue() <= 0
}

// timeUntilDue returns the time until isDue is true; 0 if it never will be or is already.
func (s State) timeUntilDue() time.Duration {
	last := s.Request.Status.LastCheckTime
	if s.interval() <= 0 || last == nil {
		return 0
	}
	return max(0, last.Add(s.interval()).Sub(s.Now))
}

// timeUntilRetry returns the time until the last attempt, which has failed, is repeated; 0 if something else is to be
// tried now.
func (s State) timeUntilRetry() time.Duration {
	a := s.Request.Status.LastAttempt
	if a == nil || a.RetryTime == nil || s.isRequested() {
		return 0
	}
	return max(0, a.RetryTime.Sub(s.Now))
}
