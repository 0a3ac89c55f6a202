// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/ordered-helm/helm/internal/indexbuilder"
)

// Museum is a handler that behaves like ChartMuseum, as its documentation describes it: charts
// are uploaded with POST to /api/charts, and stored in a directory. The index.yaml and the
// charts are below the context path.
type Museum struct {
	// Folder is the directory for the charts.
	Folder string
	// ContextPath is the path of all routes. It can be empty.
	ContextPath string
	// NeverOverwrite rejects charts that exist, even with the parameter force.
	NeverOverwrite bool

	mu sync.Mutex
}

// ServeHTTP implements http.Handler.
func (m *Museum) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	route, below := strings.CutPrefix(r.URL.Path, m.ContextPath)
	name, isChart := strings.CutPrefix(route, "/charts/")
	switch {
	case !below:
		answer(w, http.StatusNotFound, map[string]any{"error": "not found"})
	case r.Method == http.MethodPost && route == "/api/charts":
		m.upload(w, r)
	case r.Method == http.MethodGet && route == "/index.yaml":
		m.index(w)
	case r.Method == http.MethodGet && isChart:
		http.ServeFile(w, r, filepath.Join(m.Folder, filepath.Base(name)))
	case r.Method == http.MethodGet && route == "/":
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html>Welcome</html>")
	default:
		answer(w, http.StatusNotFound, map[string]any{"error": "not found"})
	}
}

func answer(w http.ResponseWriter, status int, body map[string]any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}

// upload stores the files of a form: chart, prov, or both.
func (m *Museum) upload(w http.ResponseWriter, r *http.Request) {
	chart, err := formFile(r, "chart")
	if err != nil {
		answer(w, http.StatusBadRequest, map[string]any{"error": err.Error()})
		return
	}
	prov, err := formFile(r, "prov")
	if err != nil {
		answer(w, http.StatusBadRequest, map[string]any{"error": err.Error()})
		return
	}
	loaded, err := loader.LoadArchive(bytes.NewReader(chart))
	if err != nil {
		answer(w, http.StatusBadRequest, map[string]any{"error": err.Error()})
		return
	}
	name := loaded.Name() + "-" + loaded.Metadata.Version + ".tgz"
	path := filepath.Join(m.Folder, name)
	if _, err := os.Stat(path); err == nil && (!r.URL.Query().Has("force") || m.NeverOverwrite) {
		answer(w, http.StatusConflict, map[string]any{"error": name + " already exists"})
		return
	}
	err = os.WriteFile(path, chart, 0o600)
	if err == nil && prov != nil {
		err = os.WriteFile(path+".prov", prov, 0o600)
	}
	if err != nil {
		answer(w, http.StatusInternalServerError, map[string]any{"error": err.Error()})
		return
	}
	answer(w, http.StatusCreated, map[string]any{"saved": true})
}

// formFile returns a file of a form, or nil if there is none.
func formFile(r *http.Request, field string) ([]byte, error) {
	file, _, err := r.FormFile(field)
	if errors.Is(err, http.ErrMissingFile) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(file)
}

func (m *Museum) index(w http.ResponseWriter) {
	index, _, err := indexbuilder.FromDirectory(m.Folder, "charts")
	if err != nil {
		answer(w, http.StatusInternalServerError, map[string]any{"error": err.Error()})
		return
	}
	index.ServerInfo = map[string]any{"contextPath": m.ContextPath}
	file := filepath.Join(m.Folder, "index.yaml")
	if err = index.WriteFile(file, 0o600); err == nil {
		var text []byte
		text, err = os.ReadFile(file)
		w.Header().Set("Content-Type", "application/x-yaml")
		_, _ = w.Write(text)
	}
	if err != nil {
		answer(w, http.StatusInternalServerError, map[string]any{"error": err.Error()})
	}
}
