// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package chartserver is a chart repository for tests: a folder with packed
// charts and their index, served over HTTP on a loopback port, with a password,
// TLS and client certificates if a test wants them. It records what it is asked.
package chartserver

import (
	"crypto/subtle"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/ordered-helm/helm/test/certificates"
)

// Options say how a repository may be reached. The zero value is HTTP for
// everybody.
type Options struct {
	// Username and Password, if Username is not empty, are asked for by basic
	// authentication.
	Username, Password string
	// TLS serves HTTPS, with a certificate of the server's own authority.
	TLS bool
	// ClientCertificates refuses who has no certificate of that authority. It
	// implies TLS.
	ClientCertificates bool
}

// Server is a running repository.
type Server struct {
	// URL is where it is: http:// or https://, 127.0.0.1 and the port.
	URL string
	// CAFile is the certificate of the server's authority, CertFile and KeyFile
	// are a client's, signed by it. They are empty without TLS.
	CAFile, CertFile, KeyFile string

	options Options
	files   http.Handler

	mu       sync.Mutex
	requests []Request
	answers  map[string]http.HandlerFunc
}

// Request is what somebody asked of a server.
type Request struct {
	// Path is that of the URL, with the query if there is one.
	Method, Path string
	// Username and Password are those of basic authentication.
	Username, Password string
	// Client is the common name of the certificate that the client showed.
	Client string
	Header http.Header
}

// Start serves the files of a folder until the test ends. Files may be added and
// changed meanwhile.
func Start(tb testing.TB, folder string, o Options) *Server {
	tb.Helper()
	s := &Server{options: o, files: http.FileServer(http.Dir(folder)), answers: make(map[string]http.HandlerFunc)}
	listener := httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	// A client that does not trust the server is what a test may be about.
	listener.Config.ErrorLog = log.New(io.Discard, "", 0)
	if o.TLS || o.ClientCertificates {
		config, files, err := certificates.Make(tb.TempDir(), o.ClientCertificates)
		if err != nil {
			tb.Fatal(err)
		}
		listener.TLS = config
		s.CAFile, s.CertFile, s.KeyFile = files.CA, files.Cert, files.Key
		listener.StartTLS()
	} else {
		listener.Start()
	}
	tb.Cleanup(func() {
		listener.CloseClientConnections()
		listener.Close()
	})
	s.URL = listener.URL
	return s
}

// Answer has a path, such as "/index.yaml", answered by the handler from now on;
// nil serves the file again. Neither password nor certificate is spared.
func (s *Server) Answer(path string, handler http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[path] = handler
}

// Requests returns what was asked so far, refused requests included.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Forget empties the record of requests.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = nil
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	answer := s.record(r)
	switch {
	case !s.admits(r):
		w.Header().Set("WWW-Authenticate", `Basic realm="charts"`)
		http.Error(w, "who are you?", http.StatusUnauthorized)
	case answer != nil:
		answer(w, r)
	default:
		s.files.ServeHTTP(w, r)
	}
}

func (s *Server) admits(r *http.Request) bool {
	if s.options.Username == "" {
		return true
	}
	username, password, _ := r.BasicAuth()
	return subtle.ConstantTimeCompare([]byte(username), []byte(s.options.Username)) == 1 &&
		subtle.ConstantTimeCompare([]byte(password), []byte(s.options.Password)) == 1
}

// record notes a request and returns what a test wants answered.
func (s *Server) record(r *http.Request) http.HandlerFunc {
	request := Request{Method: r.Method, Path: r.URL.RequestURI(), Header: r.Header.Clone()}
	request.Username, request.Password, _ = r.BasicAuth()
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		request.Client = r.TLS.PeerCertificates[0].Subject.CommonName
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, request)
	return s.answers[r.URL.Path]
}
