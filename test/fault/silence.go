// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"sync"
	"time"
)

// Silence has the network between clients and proxy carry nothing, until the time
// is over or the function that it returns is called; with a time of zero, until
// that. Then all that was sent meanwhile arrives, also from clients that have given
// up. Connections stay open, and new ones can be made, for the kernel takes them
// in; neither a request nor the handshake of TLS goes on. Of several silences the
// last to end counts. Down, DropConnections and Close do not wait for it.
func (p *Proxy) Silence(d time.Duration) (end func()) { return p.silence.begin(d) }

// silence is when nothing is heard.
type silence struct {
	mu    sync.Mutex
	begun int           // and not ended
	over  chan struct{} // closed when it is over
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

// wait returns when there is no silence, or when nobody listens any more.
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
