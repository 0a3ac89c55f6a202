// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ordered-helm/helm/test/chartserver"
)

// serveRepository is a step that starts a chart repository for a directory of the sandbox.
// Later steps refer to it by name: for the name SHOP, @SHOP@ is its URL, @SHOP-HOST@ its host
// and port, and @SHOP-CA@, @SHOP-CERT@ and @SHOP-KEY@ are the paths of its certificate
// authority and client certificate.
type serveRepository struct {
	name, folder string
	options      chartserver.Options
}

func (s serveRepository) run(_ context.Context, w *sandbox) (string, error) {
	server := chartserver.Start(w.t, filepath.Join(w.dir, s.folder), s.options)
	if w.servers == nil {
		w.servers = make(map[string]*chartserver.Server)
	}
	w.servers[s.name] = server
	_, host, _ := strings.Cut(server.URL, "://")
	for _, p := range []place{
		{"@" + s.name + "@", server.URL},
		{"@" + s.name + "-HOST@", host},
		{"@" + s.name + "-CA@", server.CAFile},
		{"@" + s.name + "-CERT@", server.CertFile},
		{"@" + s.name + "-KEY@", server.KeyFile},
	} {
		if p.value != "" {
			w.places = append(w.places, p)
		}
	}
	return "", nil
}

// answerPath is a step that makes a server answer requests for a path with a handler. With a
// nil handler, the server serves the file again.
type answerPath struct {
	server, path string
	handler      func(w *sandbox) http.HandlerFunc
}

func (a answerPath) run(_ context.Context, w *sandbox) (string, error) {
	var handler http.HandlerFunc
	if a.handler != nil {
		handler = a.handler(w)
	}
	w.servers[a.server].Answer(a.path, handler)
	return "", nil
}

// text returns a handler that answers with a status and a text.
func text(status int, body string) func(w *sandbox) http.HandlerFunc {
	return func(w *sandbox) http.HandlerFunc {
		body := w.expand(body)
		return func(out http.ResponseWriter, _ *http.Request) {
			out.WriteHeader(status)
			_, _ = out.Write([]byte(body))
		}
	}
}

// redirect returns a handler that redirects to another URL.
func redirect(to string) func(w *sandbox) http.HandlerFunc {
	return func(w *sandbox) http.HandlerFunc {
		return http.RedirectHandler(w.expand(to), http.StatusFound).ServeHTTP
	}
}

// silence returns a handler that does not answer.
func silence(*sandbox) http.HandlerFunc {
	return func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
}

// showRequests is a step that returns the requests to a server since the previous
// showRequests. They are sorted, because helm requests repositories in parallel.
type showRequests string

func (a showRequests) run(_ context.Context, w *sandbox) (string, error) {
	server := w.servers[string(a)]
	defer server.Forget()
	var lines []string
	for _, r := range server.Requests() {
		lines = append(lines, fmt.Sprintf("%s %s user %q password %q certificate %q agent %q accept %q\n",
			r.Method, r.Path, r.Username, r.Password, r.Client, r.Header.Get("User-Agent"), r.Header.Get("Accept")))
	}
	slices.Sort(lines)
	return fmt.Sprintf("asked of %s:\n%s", a, strings.Join(lines, "")), nil
}

// packChart is a step that packages the chart in a directory of the sandbox, without helm.
type packChart struct{ chart, file string }

func (p packChart) run(_ context.Context, w *sandbox) (string, error) {
	archive, err := chartserver.Pack(filepath.Join(w.dir, p.chart))
	if err != nil {
		return "", err
	}
	file := filepath.Join(w.dir, p.file)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", err
	}
	return "", os.WriteFile(file, archive, 0o644)
}

// showFile is a step that returns the content of a file in the sandbox, or a text if it cannot
// be read.
type showFile string

func (s showFile) run(_ context.Context, w *sandbox) (string, error) {
	data, err := os.ReadFile(filepath.Join(w.dir, w.expand(string(s))))
	if err != nil {
		return fmt.Sprintf("%s cannot be read\n", s), nil //nolint:nilerr // the step shows the error
	}
	return fmt.Sprintf("%s:\n%s\n", s, data), nil
}

// steps concatenates lists of steps.
func steps(lists ...[]step) []step { return slices.Concat(lists...) }
