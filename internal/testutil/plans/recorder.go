// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package plans

import (
	"context"
	"sync"
	"time"

	"github.com/ordered-helm/helm/internal/sequencer"
)

// Recorder records when nodes start and end, in the time of the test's bubble.
type Recorder struct {
	// Begin is when the recorder was created. The times in Started and Ended, by the IDs of nodes, count from it.
	Begin          time.Time
	Started, Ended map[string]time.Duration
	// After maps each node to the one that it started after; "" if there is none.
	After map[string]string
	// Order lists the nodes in the order in which they started.
	Order        []string
	StartedTwice []string
	Running      int
	// Takes returns how long a node takes, and Fails the error with which it ends.
	Takes func(n *sequencer.Node) time.Duration
	Fails func(n *sequencer.Node) error

	mu sync.Mutex
}

// NewRecorder returns a recorder whose nodes take a second each and do not fail.
func NewRecorder() *Recorder {
	return &Recorder{
		Begin: time.Now(), Started: map[string]time.Duration{}, After: map[string]string{}, Ended: map[string]time.Duration{},
		Takes: func(*sequencer.Node) time.Duration { return time.Second },
		Fails: func(*sequencer.Node) error { return nil },
	}
}

// Deploy is an argument of OfNodes.
func (r *Recorder) Deploy(_ context.Context, n, after *sequencer.Node) error {
	r.mu.Lock()
	if after == nil {
		r.After[n.ID()] = ""
	} else {
		r.After[n.ID()] = after.ID()
	}
	if _, again := r.Started[n.ID()]; again {
		r.StartedTwice = append(r.StartedTwice, n.ID())
	}
	r.Started[n.ID()] = time.Since(r.Begin)
	r.Order = append(r.Order, n.ID())
	r.Running++
	r.mu.Unlock()
	time.Sleep(r.Takes(n))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Running--
	r.Ended[n.ID()] = time.Since(r.Begin)
	return r.Fails(n)
}
