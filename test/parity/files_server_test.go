// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/registry"

	"github.com/ordered-helm/helm/test/ociregistry"
)

// serveFiles starts an HTTP server for files, by name, and returns its URL.
func serveFiles(t *testing.T, files map[string][]byte) (url string) {
	t.Helper()
	server := httptest.NewServer(served(files))
	t.Cleanup(server.Close)
	return server.URL
}

// serveGuarded is like serveFiles, but requires basic authentication.
func serveGuarded(t *testing.T, files map[string][]byte, name, password string) (url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if gotName, gotPassword, _ := r.BasicAuth(); gotName != name || gotPassword != password {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		served(files).ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// serveTLS starts an HTTPS server for files, and also returns the path of the certificate of
// its authority.
func serveTLS(t *testing.T, files map[string][]byte) (server *httptest.Server, authority string) {
	t.Helper()
	server = httptest.NewUnstartedServer(served(files))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // rejected handshakes are intended
	server.StartTLS()
	t.Cleanup(server.Close)
	authority = filepath.Join(t.TempDir(), "ca.crt")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(authority, block, 0o600); err != nil {
		t.Fatal(err)
	}
	return server, authority
}

// served is an http.Handler that serves files by name. The names of archives end in .tgz.
type served map[string][]byte

func (files served) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, ok := files[strings.TrimPrefix(r.URL.Path, "/")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	if strings.HasSuffix(r.URL.Path, ".tgz") {
		w.Header().Set("Content-Type", "application/gzip")
	}
	_, _ = w.Write(data) // the client may have closed the connection
}

// upload pushes a packaged chart, with a provenance file unless that is nil, to a registry
// without authentication. It returns the digest of the manifest.
func upload(t *testing.T, r *ociregistry.Registry, reference string, chart, provenance []byte) string {
	t.Helper()
	client, err := registry.NewClient(
		registry.ClientOptPlainHTTP(),
		registry.ClientOptWriter(io.Discard),
		registry.ClientOptCredentialsFile(filepath.Join(t.TempDir(), "config.json")),
	)
	if err != nil {
		t.Fatal(err)
	}
	options := []registry.PushOption{registry.PushOptCreationTime("2001-02-03T04:05:06Z")}
	if provenance != nil {
		options = append(options, registry.PushOptProvData(provenance))
	}
	result, err := client.Push(chart, r.Host()+"/"+reference, options...)
	if err != nil {
		t.Fatalf("upload %s: %v", reference, err)
	}
	return result.Manifest.Digest
}

// signed signs a packaged chart and returns the content of its provenance file.
func signed(t *testing.T, by sign, chart []byte) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), by.path)
	if err := os.WriteFile(path, chart, 0o600); err != nil {
		t.Fatal(err)
	}
	proof, err := by.key.Sign(path)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(proof)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
