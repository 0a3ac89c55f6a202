// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartrepo

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/getter"
	"helm.sh/helm/v3/pkg/repo"
)

const index = "apiVersion: v1\nentries:\n  shop:\n  - name: shop\n    version: 1.0.0\n"

// open returns the repository that a handler serves.
func open(t *testing.T, ctx context.Context, handler http.HandlerFunc) *repo.ChartRepository { //nolint:revive // t is first by custom
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	r, err := New(ctx, &repo.Entry{Name: "r", URL: server.URL, Username: "ann", Password: "secret"}, getter.All(cli.New()))
	if err != nil {
		t.Fatal(err)
	}
	r.CachePath = t.TempDir()
	return r
}

func TestDownload(t *testing.T) {
	r := open(t, t.Context(), func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != "secret" || r.URL.Path != "/index.yaml" {
			w.WriteHeader(http.StatusForbidden)
		}
		_, _ = w.Write([]byte(index))
	})
	path, err := r.DownloadIndexFile()
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(r.CachePath, "r-index.yaml"); path != want {
		t.Errorf("the index is at %s, want %s", path, want)
	}
	loaded, err := repo.LoadIndexFile(path)
	if err != nil || !loaded.Has("shop", "1.0.0") {
		t.Errorf("the index has no chart: %v", err)
	}
}

func TestTooLarge(t *testing.T) {
	for _, tt := range []struct {
		name  string
		limit int64
		fails bool
	}{
		{"fits", int64(len(index)) + 1000, false},
		{"too large", int64(len(index)), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := open(t, t.Context(), func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(index)) })
			r.Client.(*client).limit = tt.limit
			_, err := r.DownloadIndexFile()
			if (err != nil) != tt.fails || err != nil && !strings.Contains(err.Error(), "larger than") {
				t.Errorf("error is %v", err)
			}
		})
	}
}

func TestEndsWithItsContext(t *testing.T) {
	for _, tt := range []struct {
		name  string
		begin bool
	}{{"before the answer", false}, {"in the midst of the answer", true}} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r := open(t, ctx, func(w http.ResponseWriter, r *http.Request) {
				if tt.begin {
					_, _ = w.Write([]byte(index))
					w.(http.Flusher).Flush()
				}
				cancel()
				<-r.Context().Done()
			})
			if _, err := r.DownloadIndexFile(); !errors.Is(err, context.Canceled) {
				t.Errorf("error is %v", err)
			}
		})
	}
}

func TestConfigurationThatCannotBe(t *testing.T) {
	r := open(t, t.Context(), func(http.ResponseWriter, *http.Request) {})
	r.Client.(*client).files.CA = filepath.Join(t.TempDir(), "none")
	if _, err := r.DownloadIndexFile(); err == nil || !strings.Contains(err.Error(), "can't read CA file") {
		t.Errorf("error is %v", err)
	}
}
