// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"sync"
	"time"
)

// Silence stops all traffic between clients and the proxy, for the duration d or until end is
// called. If d is zero, the silence lasts until end is called. Meanwhile, connections stay
// open, and clients can open new ones, because the kernel accepts them, but no data are
// transferred. Afterwards, all data that were sent arrive, even from clients that have
// canceled their requests. If several silences overlap, traffic resumes when the last one
// ends. Down, DropConnections and Close do not wait for the end of a silence.
func (p *Proxy) Silence(d time.Duration) (end func()) { return p.silence.begin(d) }

// silence tracks the silences of a proxy that have not ended.
type silence struct {
	mu    sync.Mutex
	begun int           // number of silences that have not ended
	over  chan struct{} // closed when the last one ends
}

func (s *silence) begin(d time.Duration) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun == 0 {
		s.over = make(chan struct{})
	}
	s.begun++
	once := sync.OnceFunc(s.end)
	if d <= 0 {
		return once
	}
	timer := time.AfterFunc(d, once)
	return func() {
		timer.Stop()
		once()
	}
}

func (s *silence) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun--
	if s.begun == 0 {
		close(s.over)
	}
}

// wait waits until there is no silence, or until gone is closed.
func (s *silence) wait(gone <-chan struct{}) {
	for {
		s.mu.Lock()
		begun, over := s.begun, s.over
		s.mu.Unlock()
		if begun == 0 {
			return
		}
		select {
		case <-over:
		case <-gone:
			return
		}
	}
}
