// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// ticking returns a handler that sends data every minute, the given number of times.
func ticking(times int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for range times {
			select {
			case <-time.After(time.Minute):
				if _, err := io.WriteString(w, "tick "); err != nil {
					panic(http.ErrAbortHandler)
				}
			case <-r.Context().Done():
				panic(http.ErrAbortHandler)
			}
		}
	}
}

func TestCutAfterAndStallAfter(t *testing.T) {
	const half, full = 150 * time.Second, 150 * time.Second // after the second tick
	for _, tt := range []struct {
		name, target string
		rule         Rule
		server       int           // how often it sends data
		patience     time.Duration // the client's timeout
		took         time.Duration
		told         string
		answered     bool
		dropped      bool
	}{
		{"cut", "?watch=1", CutAfter(1, half, full), 99, time.Hour, half, "tick tick ", false, true},
		{"ended before it is cut", "?watch=1", CutAfter(1, half, full), 1, time.Hour, time.Minute, "tick ", true, false},
		{"given up before it is cut", "?watch=1", CutAfter(1, half, full), 99, 90 * time.Second, 90 * time.Second, "tick ", false, true},
		{"a list is not cut", "", CutAfter(1, half, full), 99, time.Hour, 0, "", false, false},
		{"stalled", "?watch=1", StallAfter(1, half, full), 99, time.Hour, time.Hour, "tick tick ", false, true},
		{"stalled, and ended by the server", "?watch=1", StallAfter(1, half, full), 2, time.Hour, 2 * time.Minute, "tick tick ", true, false},
		{"stalled, and lost by the server", "?watch=1", StallAfter(1, 90*time.Second, 0), 2, time.Hour, time.Hour, "tick ", false, true},
		{"a list is not stalled", "", StallAfter(1, half, full), 99, time.Hour, 0, "", false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.patience)
				defer cancel()
				begun := time.Now()
				w, answered, dropped := call(ctx, tt.rule, ticking(tt.server), "GET", podsPath+tt.target)
				if took := time.Since(begun); took != tt.took || answered != tt.answered || dropped != tt.dropped {
					t.Errorf("after %s answered is %t and dropped %t, want %s, %t, %t", took, answered, dropped, tt.took, tt.answered, tt.dropped)
				}
				if got := w.Body.String(); got != tt.told {
					t.Errorf("was told %q, want %q", got, tt.told)
				}
			})
		})
	}
}

// TestStalledWatchDoesNotEnd checks that the client does not receive the end of a stalled
// watch, whether the server ends the watch or drops the connection.
func TestStalledWatchDoesNotEnd(t *testing.T) {
	for name, end := range map[string]func(){
		"ended by the server": func() {},
		"lost by the server":  func() { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				begun := time.Now()
				_, _, dropped := call(ctx, StallAfter(1, time.Second, 0), func(http.ResponseWriter, *http.Request) {
					time.Sleep(time.Minute)
					end()
				}, "GET", podsPath+"?watch=1")
				if took := time.Since(begun); took != time.Hour || !dropped {
					t.Errorf("ended after %s, dropped is %t", took, dropped)
				}
			})
		})
	}
}

func TestCutAfterIsRandom(t *testing.T) {
	const atLeast, atMost = time.Minute, time.Hour
	lengths := func(t *testing.T, seed uint64) (all []time.Duration) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			rule := CutAfter(seed, atLeast, atMost)
			for range 50 {
				begun := time.Now()
				call(t.Context(), rule, ticking(1000), "GET", podsPath+"?watch=1")
				all = append(all, time.Since(begun))
			}
		})
		return all
	}
	first := lengths(t, 1)
	if low, high := slices.Min(first), slices.Max(first); low < atLeast || high >= atMost || high-low < atMost/2 {
		t.Errorf("cut after %s to %s", low, high)
	}
	if again := lengths(t, 1); !slices.Equal(first, again) {
		t.Errorf("the same seed cuts after %v and %v", first, again)
	}
	if other := lengths(t, 2); slices.Equal(first, other) {
		t.Errorf("two seeds cut after %v", first)
	}
}

// TestStallWatches checks that clients of stalled watches receive no later events, even if a
// rule answers the watch.
func TestStallWatches(t *testing.T) {
	for name, silent := range map[string]bool{"the server's": false, "a rule's": true} {
		t.Run(name, func(t *testing.T) {
			noLeaks(t)
			later, told := make(chan struct{}), make(chan struct{})
			p := newProxyTo(t, func(w http.ResponseWriter, r *http.Request) {
				fmt.Fprintln(w, "first")
				flush(w)
				select {
				case <-later:
					fmt.Fprintln(w, "second")
					flush(w)
					close(told)
				case <-r.Context().Done():
				}
			})
			if silent {
				p.Intercept(func(w http.ResponseWriter, r *http.Request, what Request) bool {
					fmt.Fprintln(w, "first")
					return Silent(w, r, what)
				})
				close(told)
			}
			response, err := request(t, p, podsPath+"?watch=1")
			if err != nil {
				t.Fatal(err)
			}
			body := bufio.NewReader(response.Body)
			if line, err := body.ReadString('\n'); line != "first\n" || err != nil {
				t.Fatalf("began with %q, %v", line, err)
			}
			for range 2 {
				if n := p.StallWatches(); n != 1 {
					t.Errorf("stalled %d watches, want 1", n)
				}
			}
			close(later)
			<-told
			if n := p.CutWatches(); n != 1 {
				t.Errorf("cut %d watches, want 1", n)
			}
			if rest, err := io.ReadAll(body); len(rest) > 0 || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("goes on with %q, %v", rest, err)
			}
			if n := p.StallWatches(); n != 0 {
				t.Errorf("%d watches are open when all were cut", n)
			}
		})
	}
}
