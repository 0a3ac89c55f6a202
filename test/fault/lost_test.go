// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// serverWithEvents returns a handler that answers a create request with the object, and a
// watch or a followed log with one line, without ending the response. asked counts the
// requests.
func serverWithEvents(asked *atomic.Int64) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.Method == http.MethodPost:
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write(body)
		case r.Method == http.MethodDelete:
			w.WriteHeader(http.StatusNoContent)
		case r.URL.RawQuery == "":
			_, _ = io.WriteString(w, strings.Repeat("list ", 20000))
		default:
			_, _ = io.WriteString(w, "first line\n")
			flush(w)
			<-r.Context().Done()
		}
	}
}

func TestLostAnswers(t *testing.T) {
	long := strings.Repeat("list ", 20000)
	for _, tt := range []struct {
		name, method, target string
		code                 int
		half                 string // of the body, as HalfAnswer sends it
		whole                bool   // there is no body to halve
	}{
		{"create", "POST", podsPath, http.StatusCreated, "12345", false},
		{"list", "GET", podsPath, http.StatusOK, long[:50000], false},
		{"watch", "GET", podsPath + "?watch=1", http.StatusOK, "first", false},
		{"followed log", "GET", podsPath + "/a/log?follow=true", http.StatusOK, "first", false},
		{"without a body", "DELETE", podsPath + "/a", http.StatusNoContent, "", true},
	} {
		ask := func(t *testing.T, rule Rule) (*Proxy, *http.Response, error) {
			t.Helper()
			noLeaks(t)
			var asked atomic.Int64
			p := newProxyTo(t, serverWithEvents(&asked))
			p.Intercept(rule)
			r, err := http.NewRequestWithContext(t.Context(), tt.method, p.URL()+tt.target, strings.NewReader("1234567890"))
			if err != nil {
				t.Fatal(err)
			}
			response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
			if err == nil {
				t.Cleanup(func() { _ = response.Body.Close() })
			}
			if n := asked.Load(); n != 1 {
				t.Errorf("the server was asked %d times, want once", n)
			}
			if all := p.Requests(); len(all) != 1 || all[0].Code != tt.code {
				t.Errorf("noted %+v, want the code %d", all, tt.code)
			}
			return p, response, err
		}
		t.Run(tt.name+", whole", func(t *testing.T) {
			if _, response, err := ask(t, DropAfter); !errors.Is(err, io.EOF) {
				t.Errorf("got %v, %v", response, err)
			}
		})
		t.Run(tt.name+", half", func(t *testing.T) {
			_, response, err := ask(t, HalfAnswer)
			if err != nil || response.StatusCode != tt.code {
				t.Fatalf("got %v, %v", response, err)
			}
			body, err := io.ReadAll(response.Body)
			if string(body) != tt.half || errors.Is(err, io.ErrUnexpectedEOF) == tt.whole {
				t.Errorf("got %d bytes %.20q, %v", len(body), body, err)
			}
		})
	}
}

func TestPassAppliesLaterRules(t *testing.T) {
	noLeaks(t)
	var asked atomic.Int64
	p := newProxyTo(t, serverWithEvents(&asked))
	var order []string
	note := func(name string, then Rule) Rule {
		return func(w http.ResponseWriter, r *http.Request, what Request) bool {
			order = append(order, name)
			return then(w, r, what)
		}
	}
	nothing := func(http.ResponseWriter, *http.Request, Request) bool { return false }
	p.Intercept(note("before", nothing))
	p.Intercept(note("half", HalfAnswer))
	p.Intercept(note("after", nothing))
	p.Intercept(note("answers", TooMany(3)))
	p.Intercept(note("too late", nothing))
	response, err := request(t, p, podsPath)
	if err != nil || response.StatusCode != http.StatusTooManyRequests {
		t.Fatalf("got %v, %v", response, err)
	}
	if body, err := io.ReadAll(response.Body); !errors.Is(err, io.ErrUnexpectedEOF) || len(body) == 0 {
		t.Errorf("got %q, %v", body, err)
	}
	if got := fmt.Sprint(order); got != "[before half after answers]" || asked.Load() != 0 {
		t.Errorf("asked %s and the server %d times", got, asked.Load())
	}
}

func TestPassOutsideProxyPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a request that came by no proxy was passed on")
		}
	}()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	Pass(nil, r)
}
