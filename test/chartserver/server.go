// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package chartserver is a chart repository for tests: a directory with packaged charts and
// their index, served over HTTP on a loopback port, optionally with credentials, TLS and
// client certificates. It records the requests that it receives. With a Museum, charts can be
// uploaded.
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

// Options control access to a repository. The zero value is HTTP without restrictions.
type Options struct {
	// Username and Password are required as basic authentication, if Username is not empty.
	Username, Password string
	// TLS serves HTTPS, with a certificate signed by the server's own authority.
	TLS bool
	// ClientCertificates rejects clients without a certificate that the server's authority has
	// signed. It implies TLS.
	ClientCertificates bool
	// AccessToken is required as a bearer token, if it is not empty.
	AccessToken string
	// Handler answers requests. If it is nil, the server serves the files of its directory.
	Handler http.Handler
}

// Server is a running repository.
type Server struct {
	// URL is the address of the repository: http:// or https://, 127.0.0.1 and the port.
	URL string
	// CAFile is the path of the certificate of the server's authority. CertFile and KeyFile
	// are the paths of a client certificate that it has signed, and its key. Without TLS, they
	// are empty.
	CAFile, CertFile, KeyFile string

	options Options
	files   http.Handler

	mu       sync.Mutex
	requests []Request
	answers  map[string]http.HandlerFunc
}

// Request describes a request that a Server has received.
type Request struct {
	// Path is the path of the URL, including the query if there is one.
	Method, Path string
	// Username and Password are the credentials of basic authentication.
	Username, Password string
	// Client is the common name of the client's certificate, or empty without a certificate.
	Client string
	Header http.Header
}

// Start starts a server for the files in a directory, which is stopped at the end of the test.
// Files can be added and changed while it runs.
func Start(tb testing.TB, folder string, o Options) *Server {
	tb.Helper()
	s := &Server{options: o, files: http.FileServer(http.Dir(folder)), answers: make(map[string]http.HandlerFunc)}
	if o.Handler != nil {
		s.files = o.Handler
	}
	listener := httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	// TLS errors are not logged, because some tests use clients that do not trust the server.
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

// Answer makes the server answer requests for a path, such as "/index.yaml", with the handler
// from now on. With a nil handler, it serves the file again. Password and client certificate
// are still required.
func (s *Server) Answer(path string, handler http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[path] = handler
}

// Requests returns all requests until now, including rejected ones.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Forget clears the record of requests.
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
	if s.options.AccessToken != "" && r.Header.Get("Authorization") != "Bearer "+s.options.AccessToken {
		return false
	}
	if s.options.Username == "" {
		return true
	}
	username, password, _ := r.BasicAuth()
	return subtle.ConstantTimeCompare([]byte(username), []byte(s.options.Username)) == 1 &&
		subtle.ConstantTimeCompare([]byte(password), []byte(s.options.Password)) == 1
}

// record records a request and returns the handler that a test set for it.
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
