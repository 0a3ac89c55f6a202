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

// serve starts a chart repository that serves a directory of the world. Later steps refer
// to it by name: @SHOP@ is the URL of "SHOP", @SHOP-CA@, @SHOP-CERT@ and @SHOP-KEY@ are its
// files, @SHOP-HOST@ is host and port.
type serve struct {
	name, folder string
	options      chartserver.Options
}

func (s serve) run(_ context.Context, w *world) (string, error) {
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

// answer lets a handler of a server answer a path; nil is for the file.
type answer struct {
	server, path string
	handler      func(w *world) http.HandlerFunc
}

func (a answer) run(_ context.Context, w *world) (string, error) {
	var handler http.HandlerFunc
	if a.handler != nil {
		handler = a.handler(w)
	}
	w.servers[a.server].Answer(a.path, handler)
	return "", nil
}

// text answers with a status and a text.
func text(status int, body string) func(w *world) http.HandlerFunc {
	return func(w *world) http.HandlerFunc {
		body := w.expand(body)
		return func(out http.ResponseWriter, _ *http.Request) {
			out.WriteHeader(status)
			_, _ = out.Write([]byte(body))
		}
	}
}

// redirect answers with another URL.
func redirect(to string) func(w *world) http.HandlerFunc {
	return func(w *world) http.HandlerFunc {
		return http.RedirectHandler(w.expand(to), http.StatusFound).ServeHTTP
	}
}

// silence does not answer.
func silence(*world) http.HandlerFunc {
	return func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
}

// asked shows the requests to a server since the last time, sorted, because repositories
// are requested in parallel.
type asked string

func (a asked) run(_ context.Context, w *world) (string, error) {
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

// pack packages the chart in a directory into a file of the world.
type pack struct{ chart, file string }

func (p pack) run(_ context.Context, w *world) (string, error) {
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

// show shows a file of the world, or that it does not exist.
type show string

func (s show) run(_ context.Context, w *world) (string, error) {
	data, err := os.ReadFile(filepath.Join(w.dir, w.expand(string(s))))
	if err != nil {
		return fmt.Sprintf("%s cannot be read\n", s), nil //nolint:nilerr // the step shows the error
	}
	return fmt.Sprintf("%s:\n%s\n", s, data), nil
}

// steps concatenates lists of steps.
func steps(lists ...[]step) []step { return slices.Concat(lists...) }
