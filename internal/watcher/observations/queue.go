// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package observations

// MaxQueued is the maximum number of observations in a Queue. The oldest are dropped first.
const MaxQueued = 100

// Queue has the observations of one object that are not judged yet. Only observations after
// the baseline count, which is the written version of the object or the first one that was
// read, and each must be newer than the previous one. Until SetBaseline is called, the Queue
// keeps all observations. The zero value is an empty Queue.
type Queue struct {
	queued       []Observation
	last         Position
	hasBaseline  bool
	incomparable bool // whether resource versions cannot be compared
	needsRead    bool // whether the next observation must come from a read
}

// Position identifies the observation that a Queue accepted last. Version is its resource
// version, and Gone says that the object did not exist. Positions are compared to find out
// whether the Queue has accepted an observation in the meantime.
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

// IsIncomparable reports whether the resource versions of the object cannot be compared.
func (q *Queue) IsIncomparable() bool { return q.incomparable }

// Len returns the number of observations in the Queue.
func (q *Queue) Len() int { return len(q.queued) }

// SetBaseline makes o the first observation to judge. Of the observations that are already
// queued and of later ones, only those newer than o count.
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

// Add adds an observation if it is newer than the previous one, and reports whether it did.
// If versions cannot be compared, the first observation after the baseline must come from a
// read while a group waits for the object, which awaited says.
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

// accept reports whether to queue an observation: it must be newer than the previous one,
// and not repeat that the object is gone. accept records its position as the last.
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

// isLater reports whether an observation is newer than the previous one. If the versions
// cannot be compared, it returns true.
func (q *Queue) isLater(o Observation) bool {
	order, ordered := compareVersions(o.Version, q.last.Version)
	if !ordered {
		return true
	}
	// Older API servers send a deletion with the version of the last change. An object that
	// was temporarily not served returns with its old version.
	return order > 0 || order == 0 && (o.Gone || q.last.Gone && o.Current)
}
