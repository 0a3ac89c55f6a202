// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestSilenceDelaysConnections checks for how long silences delay reads and writes of a
// connection.
func TestSilenceDelaysConnections(t *testing.T) {
	for name, tt := range map[string]struct {
		begin func(s *silence, c *connection)
		took  time.Duration
		lost  bool // nothing arrives
	}{
		"none":            {func(*silence, *connection) {}, 0, false},
		"ended by time":   {func(s *silence, _ *connection) { s.begin(time.Minute) }, time.Minute, false},
		"ended by a call": {func(s *silence, _ *connection) { time.AfterFunc(time.Second, s.begin(0)) }, time.Second, false},
		"ended before its time": {func(s *silence, _ *connection) {
			time.AfterFunc(time.Second, s.begin(time.Minute))
		}, time.Second, false},
		"ended twice": {func(s *silence, _ *connection) {
			end := s.begin(0)
			end()
			end()
			s.begin(time.Minute)
		}, time.Minute, false},
		"two of them": {func(s *silence, _ *connection) {
			s.begin(time.Minute)
			s.begin(time.Hour)
		}, time.Hour, false},
		"one after the other": {func(s *silence, _ *connection) {
			s.begin(time.Minute)
			time.AfterFunc(30*time.Second, func() { s.begin(time.Minute) })
		}, 90 * time.Second, false},
		"ended by closing": {func(s *silence, c *connection) {
			s.begin(time.Hour)
			time.AfterFunc(time.Second, func() { _ = c.Close() })
		}, time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &silence{}
				ours, theirs := net.Pipe()
				defer func() { _ = theirs.Close() }()
				all := &connections{silence: s, open: map[*connection]struct{}{}}
				c := &connection{Conn: ours, all: all, closed: make(chan struct{})}
				defer func() { _ = c.Close() }()
				tt.begin(s, c)
				begun := time.Now()
				var talk sync.WaitGroup
				for what, say := range map[string]func() error{
					"read":  func() error { _, err := c.Read(make([]byte, 1)); return err },
					"write": func() error { _, err := c.Write([]byte("x")); return err },
				} {
					talk.Go(func() {
						err := say()
						if took := time.Since(begun); took != tt.took || what == "write" && (err != nil) != tt.lost {
							t.Errorf("%s took %s, %v, want %s", what, took, err, tt.took)
						}
					})
				}
				talk.Go(func() { _, _ = theirs.Write([]byte("x")) })
				talk.Go(func() { _, _ = theirs.Read(make([]byte, 1)) })
				talk.Wait()
			})
		})
	}
}

// TestSilence checks that a watch and a new request receive no data during a silence, and all
// data after it.
func TestSilence(t *testing.T) {
	authority := newAuthority(t)
	for name, secure := range map[string]bool{"plain": false, "TLS": true} {
		t.Run(name, func(t *testing.T) {
			noLeaks(t)
			p, client := dial(t, secure, authority)
			var mu sync.Mutex
			var order []string
			note := func(what string) {
				mu.Lock()
				defer mu.Unlock()
				order = append(order, what)
			}
			p.OnRequest(func(r *http.Request) { note(r.Method) })

			open := watchOn(t, client)
			end := p.Silence(0)
			var asking sync.WaitGroup
			asking.Go(func() { // on a new connection, with a TLS handshake
				list, err := listPods(t, p)
				note("answered")
				if err != nil || list != "7" {
					t.Errorf("got %s, %v", list, err)
				}
			})
			note("silent")
			for p.server.connections.count() < 2 { // until the request has been sent
				time.Sleep(time.Millisecond)
			}
			note("over")
			end()
			asking.Wait()
			if want := []string{"GET", "silent", "over", "GET", "answered"}; !slices.Equal(order, want) {
				t.Errorf("went %v, want %v", order, want)
			}
			if n := p.CutWatches(); n != 1 {
				t.Errorf("%d watches are still open, want 1", n)
			}
			if rest, err := io.ReadAll(open); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("a cut watch goes on with %q, %v", rest, err)
			}
		})
	}
}

// TestSilenceDoesNotDelayClose checks that DropConnections, Down and Close do not wait for the
// end of a silence.
func TestSilenceDoesNotDelayClose(t *testing.T) {
	authority := newAuthority(t)
	for name, secure := range map[string]bool{"plain": false, "TLS": true} {
		for how, end := range map[string]func(*Proxy){
			"down":  func(p *Proxy) { p.Down() },
			"close": func(p *Proxy) { p.Close() },
			"drop": func(p *Proxy) {
				if n := p.DropConnections(); n != 1 {
					t.Errorf("dropped %d connections, want 1", n)
				}
			},
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				noLeaks(t)
				p, client := dial(t, secure, authority)
				send(t, client, "GET "+podsPath+" HTTP/1.1\r\nHost: a\r\n\r\n")
				response, err := http.ReadResponse(bufio.NewReader(client), nil)
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, response.Body)
				p.Silence(0)
				send(t, client, "GET "+podsPath+" HTTP/1.1\r\nHost: a\r\n\r\n")
				end(p)
				if got, err := io.ReadAll(client); len(got) > 0 {
					t.Errorf("got %q, %v", got, err)
				}
			})
		}
	}
}

func TestDropConnections(t *testing.T) {
	noLeaks(t)
	p, _ := newProxy(t)
	open := openWatch(t, p)
	idle := &http.Transport{}
	defer idle.CloseIdleConnections()
	get := func() error {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL()+podsPath, nil)
		if err != nil {
			return err
		}
		response, err := idle.RoundTrip(r)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		_, err = io.Copy(io.Discard, response.Body)
		return err
	}
	if err := get(); err != nil {
		t.Fatal(err)
	}
	if n := p.DropConnections(); n != 2 {
		t.Errorf("dropped %d connections, want 2", n)
	}
	if rest, err := io.ReadAll(open); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("the watch goes on with %q, %v", rest, err)
	}
	if err := get(); err != nil {
		t.Errorf("a new request fails: %v", err)
	}
	p.Down()
	if n := p.DropConnections(); n != 0 {
		t.Errorf("dropped %d connections while it was down", n)
	}
}
