// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package observation

// MaxQueued is the maximum number of observations in a Queue. If there are more, the oldest
// are dropped.
const MaxQueued = 100

// Queue holds the observations of one object that have not been processed yet. It starts with
// the baseline: the version of the object that was written, or that was read first. After
// the baseline, it accepts only observations that are newer than the previous one. Before
// SetBaseline is called, it accepts all. The zero value is an empty Queue.
type Queue struct {
	queued       []Observation
	last         Position
	hasBaseline  bool
	incomparable bool // whether resource versions cannot be compared
	needsRead    bool // whether the next observation must come from a read
}

// Position identifies the observation that a Queue accepted last, by its resource version and
// by whether the object did not exist. A Position that differs from an earlier one shows that
// the Queue has accepted another observation in the meantime.
type Position struct {
	Version string
	Gone    bool
}

// Position returns the position of the observation that was accepted last.
func (q *Queue) Position() Position { return q.last }

// Version returns the resource version of the observation that was accepted last.
func (q *Queue) Version() string { return q.last.Version }

// HasBaseline reports whether SetBaseline was called.
func (q *Queue) HasBaseline() bool { return q.hasBaseline }

// IsIncomparable reports whether the resource version of the baseline is not a number, so
// that versions cannot be compared.
func (q *Queue) IsIncomparable() bool { return q.incomparable }

// Len returns the number of observations in the Queue.
func (q *Queue) Len() int { return len(q.queued) }

// SetBaseline makes o the first observation in the Queue. Observations that are already
// queued, or added later, are dropped unless they are newer than o.
func (q *Queue) SetBaseline(o Observation) {
	kept := q.queued
	_, ordered := compareVersions(o.Version, o.Version)
	*q = Queue{
		queued: []Observation{o}, last: Position{o.Version, o.Gone},
		hasBaseline: true, incomparable: !ordered, needsRead: !ordered,
	}
	for _, k := range kept {
		if _, ordered := compareVersions(k.Version, o.Version); ordered {
			q.Add(k, false)
		}
	}
}

// StartWithQueued makes the first of the observations in the Queue, which must not be empty, the
// baseline.
func (q *Queue) StartWithQueued() {
	queued := q.Take()
	q.SetBaseline(queued[0])
	for _, o := range queued[1:] {
		q.Add(o, false)
	}
}

// Add adds an observation if it is newer than the previous one, and reports whether it did.
// awaited says whether a group waits for the object. If versions cannot be compared, the
// first observation after the baseline must come from a read while awaited is true.
func (q *Queue) Add(o Observation, awaited bool) bool {
	if q.hasBaseline && !q.accept(o, awaited) {
		return false
	}
	if len(q.queued) >= MaxQueued {
		q.queued = q.queued[1:]
	}
	q.queued = append(q.queued, o)
	return true
}

// Take removes all observations from the Queue and returns them, the oldest first.
func (q *Queue) Take() []Observation {
	taken := q.queued
	q.queued = nil
	return taken
}

// accept reports whether to queue an observation: it must be newer than the previous one, and
// must not repeat that the object does not exist. accept also updates q.last.
func (q *Queue) accept(o Observation, awaited bool) bool {
	switch {
	case !q.needsRead:
		if !q.isLater(o) {
			return false
		}
	case o.Current && awaited:
		q.needsRead = false
	default:
		return false
	}
	if o.Version != "" {
		q.last.Version = o.Version
	}
	repeats := q.last.Gone && o.Gone
	q.last.Gone = o.Gone
	return !repeats
}

// isLater reports whether an observation is newer than the previous one, or cannot be
// compared with it.
func (q *Queue) isLater(o Observation) bool {
	order, ordered := compareVersions(o.Version, q.last.Version)
	if !ordered {
		return true
	}
	// Older API servers send deletions with the resource version of the last change. An
	// object whose resource was temporarily not served returns with its old version.
	return order > 0 || order == 0 && (o.Gone || q.last.Gone && o.Current)
}
