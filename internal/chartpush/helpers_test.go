// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartpush_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"github.com/ordered-helm/helm/internal/chartpush"
	"github.com/ordered-helm/helm/internal/testutil/chartpack"
)

// packChart writes an archive of the chart shop 1.2.3, and returns its path.
func packChart(t *testing.T) string {
	t.Helper()
	source := filepath.Join(t.TempDir(), "shop")
	writeFile(t, filepath.Join(source, "Chart.yaml"), "apiVersion: v2\nname: shop\nversion: 1.2.3\ndescription: A shop\n")
	writeFile(t, filepath.Join(source, "templates", "map.yaml"), "kind: ConfigMap\napiVersion: v1\nmetadata: {name: shop}\n")
	data, err := chartpack.Pack(source)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "shop-1.2.3.tgz")
	writeFile(t, path, string(data))
	return path
}

// sign writes a provenance file for an archive. Its digests are the given text.
func sign(t *testing.T, archive, digests string) {
	t.Helper()
	config := &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA}
	key, err := openpgp.NewEntity("anna", "", "anna@example.com", config)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := clearsign.Encode(&out, key.PrivateKey, config)
	if err == nil {
		_, err = io.WriteString(w, "name: shop\nversion: 1.2.3\n\n...\n"+digests)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	writeFile(t, archive+".prov", out.String())
}

func digestOf(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(content), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// signedArchive returns an archive with a provenance file.
func signedArchive(t *testing.T) *chartpush.Archive {
	t.Helper()
	path := packChart(t)
	sign(t, path, "files:\n  shop-1.2.3.tgz: sha256:"+digestOf(t, path)+"\n")
	return readArchive(t, path)
}

func readArchive(t *testing.T, path string) *chartpush.Archive {
	t.Helper()
	archive, err := chartpush.ReadArchive(path)
	if err != nil {
		t.Fatal(err)
	}
	return archive
}

// fileServer stores files with PUT in memory, as WebDAV servers do. A test can answer requests
// differently.
type fileServer struct {
	*httptest.Server
	// answer answers a request if it returns true.
	answer func(w http.ResponseWriter, r *http.Request) bool
	// ignoresConditions is true if the server ignores the headers If-Match and If-None-Match.
	ignoresConditions bool

	mu       sync.Mutex
	files    map[string]string
	requests []string // method, path, and whether it had credentials
}

func startFileServer(t *testing.T) *fileServer {
	s := &fileServer{files: map[string]string{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func (s *fileServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Method, r.URL.RequestURI(), r.Header.Get("Authorization"))))
	s.mu.Unlock()
	if s.answer != nil && s.answer(w, r) {
		return
	}
	s.serve(w, r)
}

func (s *fileServer) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	content, exists := s.files[r.URL.Path]
	sum := sha256.Sum256([]byte(content))
	etag := `"` + hex.EncodeToString(sum[:8]) + `"`
	match, none := r.Header.Get("If-Match"), r.Header.Get("If-None-Match")
	switch {
	case !s.ignoresConditions && (match != "" && (!exists || match != etag) || none == "*" && exists):
		w.WriteHeader(http.StatusPreconditionFailed)
	case r.Method == http.MethodPut:
		s.files[r.URL.Path] = string(body)
		w.WriteHeader(http.StatusCreated)
	case !exists:
		http.NotFound(w, r)
	case r.Method == http.MethodDelete:
		delete(s.files, r.URL.Path)
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("ETag", etag)
		_, _ = io.WriteString(w, content)
	}
}

// set stores a file.
func (s *fileServer) set(path, content string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[path] = content
}

// names returns the paths of the stored files.
func (s *fileServer) names() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(slices.Sorted(maps.Keys(s.files)), " ")
}

func (s *fileServer) get(path string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.files[path]
}

// seen returns the requests until now, in order.
func (s *fileServer) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}
