// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartserver

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// FileStore is a handler that stores files in a directory, as WebDAV servers do: with GET, PUT and
// DELETE. It creates directories, and observes If-Match and If-None-Match.
type FileStore struct {
	// Folder is the directory.
	Folder string

	mu sync.Mutex
}

// ServeHTTP implements http.Handler.
func (s *FileStore) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	path := filepath.Join(s.Folder, filepath.FromSlash(filepath.Clean("/"+r.URL.Path)))
	content, err := os.ReadFile(path)
	etag := ""
	if err == nil {
		sum := sha256.Sum256(content)
		etag = `"` + hex.EncodeToString(sum[:]) + `"`
		w.Header().Set("ETag", etag)
	}
	match, none := r.Header.Get("If-Match"), r.Header.Get("If-None-Match")
	switch {
	case r.Method == http.MethodGet && err == nil:
		http.ServeContent(w, r, path, time.Time{}, bytes.NewReader(content))
	case r.Method == http.MethodGet:
		http.NotFound(w, r)
	case match != "" && match != etag, none == "*" && err == nil:
		w.WriteHeader(http.StatusPreconditionFailed)
	case r.Method == http.MethodPut:
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = os.WriteFile(path, body, 0o600)
		}
		s.reply(w, http.StatusCreated, err)
	case r.Method == http.MethodDelete:
		s.reply(w, http.StatusNoContent, os.Remove(path))
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

// reply answers with the status, or with an error.
func (*FileStore) reply(w http.ResponseWriter, status int, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(status)
}
