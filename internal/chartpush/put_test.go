// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartpush_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/chartpush"
)

const (
	chartPath = "/charts/shop-1.2.3.tgz"
	proofPath = chartPath + ".prov"
	indexPath = "/charts/index.yaml"
)

// TestPut checks what is stored with PUT, and in which order: the provenance file comes first.
func TestPut(t *testing.T) {
	s, archive := startFileServer(t), signedArchive(t)
	var warnings []string
	o := chartpush.Options{Method: chartpush.Put, Warn: func(w string) { warnings = append(warnings, w) }}
	if err := chartpush.Push(t.Context(), archive, s.URL+"/charts/", o); err != nil {
		t.Fatal(err)
	}
	want := "GET " + chartPath + ", PUT " + proofPath + ", GET " + proofPath + ", PUT " + chartPath + ", GET " + chartPath
	if got := strings.Join(s.seen(), ", "); got != want {
		t.Errorf("requests are\n%s\nwant\n%s", got, want)
	}
	if s.names() != chartPath+" "+proofPath {
		t.Errorf("the server has %s", s.names())
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "--update-index") {
		t.Errorf("warnings are %q", warnings)
	}
}

func TestPutOfExistingChart(t *testing.T) {
	archive := readArchive(t, packChart(t))
	tests := []struct {
		name, content string
		identical     bool
	}{
		{name: "identical", identical: true},
		{name: "other", content: "other"},
		{name: "empty"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := startFileServer(t)
			o := chartpush.Options{Method: chartpush.Put}
			if tt.identical {
				if err := chartpush.Push(t.Context(), archive, s.URL+"/charts", o); err != nil {
					t.Fatal(err)
				}
			} else {
				s.set(chartPath, tt.content)
			}
			err := chartpush.Push(t.Context(), archive, s.URL+"/charts", o)
			if exists, ok := errors.AsType[*chartpush.ExistsError](err); !ok || exists.Identical != tt.identical {
				t.Errorf("error is %v", err)
			}
			if !tt.identical && s.get(chartPath) != tt.content {
				t.Errorf("the chart was replaced by %q", s.get(chartPath))
			}
			s.set(proofPath, "of the replaced chart")
			o.Force = true
			if err := chartpush.Push(t.Context(), archive, s.URL+"/charts", o); err != nil {
				t.Fatal(err)
			}
			if s.names() != chartPath {
				t.Errorf("the server has %s: the provenance file of the replaced chart must not stay", s.names())
			}
		})
	}
}

// TestPutRace checks that what somebody else uploads at the same time is not replaced.
func TestPutRace(t *testing.T) {
	for name, path := range map[string]string{"chart": chartPath, "provenance file": proofPath} {
		t.Run(name, func(t *testing.T) {
			s := startFileServer(t)
			s.answer = func(_ http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodPut && r.URL.Path == path {
					s.set(path, "by somebody else")
				}
				return false
			}
			err := chartpush.Push(t.Context(), signedArchive(t), s.URL+"/charts", chartpush.Options{Method: chartpush.Put})
			if exists, ok := errors.AsType[*chartpush.ExistsError](err); !ok || exists.URL != s.URL+path {
				t.Errorf("error is %v", err)
			}
			if s.get(path) != "by somebody else" || s.names() != path {
				t.Errorf("the server has %s", s.names())
			}
		})
	}
}

// TestPutFailures checks that nothing that a server has not stored completely counts as pushed,
// and what is left on the server.
func TestPutFailures(t *testing.T) {
	status := func(code int) func(*fileServer, http.ResponseWriter, *http.Request) {
		return func(_ *fileServer, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	// stores lets the server store a part of the file, or all of it, and then calls answer.
	stores := func(all bool, answer func(*fileServer, http.ResponseWriter, *http.Request)) func(*fileServer, http.ResponseWriter, *http.Request) {
		return func(s *fileServer, w http.ResponseWriter, r *http.Request) {
			content, _ := io.ReadAll(r.Body)
			if !all {
				content = content[:len(content)/2]
			}
			s.set(r.URL.Path, string(content))
			answer(s, w, r)
		}
	}
	breaks := func(*fileServer, http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	page := func(_ *fileServer, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html>Log in</html>")
	}
	tests := []struct {
		name string
		// put answers the upload of the chart, and get reading it afterwards.
		put, get func(*fileServer, http.ResponseWriter, *http.Request)
		force    bool
		want     string // part of the error
		left     string // files on the server
	}{
		{name: "no PUT", put: status(405), want: "405 Method Not Allowed: the server does not store files with PUT: to use ChartMuseum's API, use --http-method post"},
		{name: "not found", put: status(404), want: "404 Not Found: the server does not store files with PUT: to use ChartMuseum's API, use --http-method post"},
		{name: "conflict", put: status(409), want: "409 Conflict: the directory may not exist"},
		{name: "no credentials", put: status(401), want: "401 Unauthorized: use --username"},
		{name: "too large", put: status(413), want: "413 Request Entity Too Large: the chart has"},
		{name: "no space", put: stores(false, status(507)), want: "507 Insufficient Storage: the server has no space left"},
		{name: "server error", put: status(500), want: "500 Internal Server Error: the server failed"},
		{name: "accepted, not stored", put: status(202), want: "answered 202 Accepted, but it does not have the file"},
		{name: "login page", put: page, get: page, want: "answered 200 OK, but the server sends an HTML page instead of the file"},
		{name: "login page for PUT only", put: page, want: "answered 200 OK, but it does not have the file"},
		{name: "half stored", put: stores(false, status(201)), want: "answered 201 Created, but it has only a part of the file"},
		{name: "half stored with force", put: stores(false, status(201)), force: true, want: "may have a part of the file: push it again with --force", left: chartPath},
		{name: "broken connection", put: breaks, want: "EOF"},
		{name: "broken connection, half stored", put: stores(false, breaks), want: "EOF"},
		{name: "broken connection, all stored", put: stores(true, breaks), left: chartPath + " " + proofPath},
		{name: "cannot be read", put: stores(true, status(201)), get: status(403), want: "the file cannot be read back, so it may be incomplete", left: chartPath},
		{name: "broken, and cannot be read", put: stores(false, breaks), get: status(500), want: "may have a part of the file", left: chartPath},
		{name: "something else", put: func(s *fileServer, w http.ResponseWriter, r *http.Request) {
			s.set(r.URL.Path, "something else")
			w.WriteHeader(201)
		}, want: "it has another file", left: chartPath},
	}
	archive := signedArchive(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, put := startFileServer(t), false
			s.answer = func(w http.ResponseWriter, r *http.Request) bool {
				switch {
				case r.URL.Path != chartPath:
					return false
				case r.Method == http.MethodPut:
					put = true
					tt.put(s, w, r)
					return true
				case r.Method == http.MethodGet && put && tt.get != nil:
					tt.get(s, w, r)
					return true
				}
				return false
			}
			err := chartpush.Push(t.Context(), archive, s.URL+"/charts", chartpush.Options{Method: chartpush.Put, Force: tt.force})
			checkError(t, err, tt.want)
			left := tt.left
			if tt.force {
				left += " " + proofPath
			}
			if got := s.names(); got != left {
				t.Errorf("the server has %q, want %q", got, left)
			}
			for _, request := range s.seen() {
				if strings.HasPrefix(request, "POST") {
					t.Errorf("%s: an upload with PUT must not use the API", request)
				}
			}
		})
	}
}

// TestCancelledPut checks that an upload that is canceled leaves nothing.
func TestCancelledPut(t *testing.T) {
	s := startFileServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.answer = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut || r.URL.Path != chartPath {
			return false
		}
		content, _ := io.ReadAll(r.Body)
		s.set(r.URL.Path, string(content))
		cancel()
		<-r.Context().Done() // until the client is gone
		return true
	}
	err := chartpush.Push(ctx, signedArchive(t), s.URL+"/charts", chartpush.Options{Method: chartpush.Put})
	if !errors.Is(err, context.Canceled) || s.names() != "" {
		t.Errorf("error is %v, the server has %q", err, s.names())
	}
}

// TestPutToLoginPage checks that a page which answers every request is not taken for the chart.
func TestPutToLoginPage(t *testing.T) {
	s := startFileServer(t)
	s.answer = func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html>Log in</html>")
		return true
	}
	for _, update := range []bool{false, true} {
		err := chartpush.Push(t.Context(), readArchive(t, packChart(t)), s.URL+"/charts", chartpush.Options{Method: chartpush.Put, UpdateIndex: update})
		checkError(t, err, "the server sends an HTML page instead of the file, as login pages are")
	}
	for _, request := range s.seen() {
		if strings.HasPrefix(request, "PUT") {
			t.Errorf("%s: nothing must be uploaded", request)
		}
	}
}
