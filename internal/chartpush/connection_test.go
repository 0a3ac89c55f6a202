// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartpush_test

import (
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ordered-helm/helm/internal/chartpush"
)

const planted = "planted-secret-7c1f"

// TestCredentials checks which credentials are sent, and that errors do not contain them, even if
// the server repeats them.
func TestCredentials(t *testing.T) {
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("anna:"+planted))
	tests := []struct {
		name       string
		connection chartpush.Connection
		user       string // user info in the URL
		want       string
	}{
		{name: "none"},
		{name: "basic", connection: chartpush.Connection{Username: "anna", Password: planted}, want: basic},
		{name: "basic in the URL", user: "anna:" + planted + "@", want: basic},
		{name: "basic in both", user: "otto:wrong@", connection: chartpush.Connection{Username: "anna", Password: planted}, want: basic},
		{name: "short password", connection: chartpush.Connection{Username: "anna", Password: "pw"}, want: "Basic YW5uYTpwdw=="},
		{name: "bearer", connection: chartpush.Connection{AccessToken: planted}, want: "Bearer " + planted},
		{name: "bearer and URL", user: "otto:wrong@", connection: chartpush.Connection{AccessToken: planted}, want: "Bearer " + planted},
	}
	archive := readArchive(t, packChart(t))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, method := range []chartpush.Method{chartpush.Post, chartpush.Put} {
				s := startFileServer(t)
				s.answer = func(w http.ResponseWriter, r *http.Request) bool {
					w.Header().Set("Content-Type", "text/plain")
					w.WriteHeader(http.StatusForbidden)
					username, password, _ := r.BasicAuth()
					_, _ = io.WriteString(w, "no access for "+r.Header.Get("Authorization")+" "+username+" "+password+" at "+r.URL.String())
					return true
				}
				address := strings.Replace(s.URL, "://", "://"+tt.user, 1) + "/charts?key=planted-query-key"
				err := chartpush.Push(t.Context(), archive, address, chartpush.Options{Method: method, Connection: tt.connection})
				checkError(t, err, "403 Forbidden")
				for _, secret := range []string{planted, "wrong", basic[6:], "pw", "YW5uYTpwdw", "planted-query-key"} {
					if strings.Contains(err.Error(), secret) {
						t.Errorf("%s is in %v", secret, err)
					}
				}
				for _, request := range s.seen() {
					if !strings.HasSuffix(request, tt.want) || !strings.Contains(request, "key=planted-query-key") {
						t.Errorf("request is %q, want %s", request, tt.want)
					}
				}
			}
		})
	}
}

// TestRedirects checks that neither credentials nor charts are sent to another server.
func TestRedirects(t *testing.T) {
	elsewhere := startFileServer(t)
	tests := []struct {
		name, method string
		status       int
		same         bool   // the redirect stays on the server
		want         string // part of the error, or empty
	}{
		{name: "POST to another server", method: "POST", status: 307, want: "which is on another server"},
		{name: "POST to another server, permanently", method: "POST", status: 308, want: "which is on another server"},
		{name: "POST to the login page of another server", method: "POST", status: 302, want: "which is on another server"},
		{name: "POST to the login page", method: "POST", status: 302, same: true, want: "as login pages do, and nothing was uploaded"},
		{name: "POST on the server", method: "POST", status: 307, same: true},
		{name: "PUT to another server", method: "PUT", status: 307, want: "which is on another server"},
		{name: "PUT to the login page", method: "PUT", status: 303, same: true, want: "as login pages do"},
		{name: "PUT on the server", method: "PUT", status: 308, same: true},
	}
	archive := readArchive(t, packChart(t))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := startFileServer(t)
			s.answer = func(w http.ResponseWriter, r *http.Request) bool {
				to := elsewhere.URL
				if tt.same {
					to = s.URL
				}
				switch {
				case strings.HasPrefix(r.URL.Path, "/old") && r.Method == tt.method:
					http.Redirect(w, r, to+strings.Replace(r.URL.Path, "/old", "/new", 1)+"?token=planted-query-key", tt.status)
					return true
				case strings.HasPrefix(r.URL.Path, "/old") && r.Method == http.MethodGet: // the same files as in /new
					r.URL.Path = strings.Replace(r.URL.Path, "/old", "/new", 1)
				case r.Method == http.MethodPost:
					w.WriteHeader(http.StatusCreated)
					return true
				}
				return false
			}
			o := chartpush.Options{Method: chartpush.Method(strings.ToLower(tt.method)), Connection: chartpush.Connection{Username: "anna", Password: planted}}
			err := chartpush.Push(t.Context(), archive, s.URL+"/old", o)
			checkError(t, err, tt.want)
			if tt.want != "" {
				if redirect, ok := errors.AsType[*chartpush.RedirectError](err); !ok || redirect.SameServer != tt.same || strings.Contains(err.Error(), "planted") {
					t.Errorf("error is %v", err)
				}
			}
			if got := elsewhere.seen(); len(got) > 0 {
				t.Errorf("the other server got %q", got)
			}
		})
	}
}

// TestRedirectedDownload checks that a chart that another server stores is read back from there
// without credentials.
func TestRedirectedDownload(t *testing.T) {
	s, storage := startFileServer(t), startFileServer(t)
	s.answer = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			content, _ := io.ReadAll(r.Body)
			storage.set(r.URL.Path, string(content))
			w.WriteHeader(http.StatusCreated)
			return true
		}
		http.Redirect(w, r, strings.Replace(storage.URL, "://", "://anna:"+planted+"@", 1)+r.URL.Path+"?signature=1", http.StatusFound)
		return true
	}
	o := chartpush.Options{Method: chartpush.Put, Connection: chartpush.Connection{Username: "anna", Password: planted}}
	if err := chartpush.Push(t.Context(), readArchive(t, packChart(t)), s.URL+"/charts", o); err != nil {
		t.Fatal(err)
	}
	for _, request := range storage.seen() {
		if request != "GET "+chartPath+"?signature=1" {
			t.Errorf("the storage got %q", request)
		}
	}
}

// proxied contains the requests to the proxy of the environment. The variable is read only once in
// a process, and servers on this machine are used without it.
var proxied = make(chan string, 1)

func TestMain(m *testing.M) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxied <- r.Method + " " + r.URL.String() + " " + r.Header.Get("Proxy-Authorization")
		w.WriteHeader(http.StatusCreated)
	}))
	err := os.Setenv("HTTP_PROXY", strings.Replace(proxy.URL, "://", "://anna:"+planted+"@", 1))
	if err != nil {
		panic(err)
	}
	code := m.Run()
	proxy.Close()
	os.Exit(code)
}

func TestProxy(t *testing.T) {
	if err := chartpush.Push(t.Context(), readArchive(t, packChart(t)), "http://charts.example.com", chartpush.Options{}); err != nil {
		t.Fatal(err)
	}
	want := "POST http://charts.example.com/api/charts Basic " + base64.StdEncoding.EncodeToString([]byte("anna:"+planted))
	if got := <-proxied; got != want {
		t.Errorf("the proxy got %q, want %q", got, want)
	}
}

// TestIdleConnection checks that a server that never answers, and one that does not read, end the
// upload with an error.
func TestIdleConnection(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	for _, method := range []chartpush.Method{chartpush.Post, chartpush.Put} {
		o := chartpush.Options{Method: method, Connection: chartpush.Connection{IdleTimeout: 50 * time.Millisecond}}
		err = chartpush.Push(t.Context(), readArchive(t, packChart(t)), "http://"+listener.Addr().String(), o)
		if timeout := net.Error(nil); !errors.As(err, &timeout) || !timeout.Timeout() {
			t.Errorf("%s: error is %v", method, err)
		}
		if method == chartpush.Post {
			checkError(t, err, "it is not known whether the server has stored the chart")
		}
	}
}

func TestOptions(t *testing.T) {
	tests := []struct {
		name, url string
		options   chartpush.Options
		want      string
	}{
		{"method", "http://localhost", chartpush.Options{Method: "patch"}, `invalid HTTP method "patch"`},
		{"index with the API", "http://localhost", chartpush.Options{UpdateIndex: true}, "--update-index requires --http-method put"},
		{"context path with PUT", "http://localhost", chartpush.Options{Method: chartpush.Put, ContextPath: "/a"}, "--context-path is only for ChartMuseum's API"},
		{"two kinds of credentials", "http://localhost", chartpush.Options{Connection: chartpush.Connection{Username: "a", AccessToken: "b"}}, "either an access token, or a user name"},
		{"certificate without key", "http://localhost", chartpush.Options{Connection: chartpush.Connection{CertFile: "a"}}, "--cert-file and --key-file must be used together"},
		{"missing authority", "https://localhost", chartpush.Options{Connection: chartpush.Connection{CAFile: "nowhere.pem"}}, "can't read CA file: nowhere.pem"},
		{"other scheme", "ftp://anna:" + planted + "@localhost", chartpush.Options{}, "ftp://localhost is not the URL of an HTTP server"},
		{"invalid URL", "http://anna:" + planted + "@local host", chartpush.Options{}, "the URL of the repository is invalid"},
		{"no server", "http://anna:" + planted + "@127.0.0.1:1", chartpush.Options{}, "POST http://127.0.0.1:1/api/charts: dial tcp"},
	}
	archive := readArchive(t, packChart(t))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := chartpush.Push(t.Context(), archive, tt.url, tt.options)
			checkError(t, err, tt.want)
			if strings.Contains(err.Error(), planted) || strings.Contains(err.Error(), "not known") {
				t.Errorf("error is %v: nothing was sent, and the password is secret", err)
			}
		})
	}
}
