// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"sync"
	"time"
)

// Silence stops all traffic between clients and the proxy, for the duration or until the
// returned function is called. A duration of zero means only until the call. After that,
// all data that were sent arrive, even from clients that have given up. Connections stay
// open, and clients can open new ones, because the kernel accepts them, but neither
// requests nor TLS handshakes proceed. If there are several silences, traffic resumes when
// the last one ends. Down, DropConnections and Close do not wait for it.
func (p *Proxy) Silence(d time.Duration) (end func()) { return p.silence.begin(d) }

// silence is the state of all silences.
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

// wait returns when there is no silence, or when gone is closed.
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
