// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartdownload_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/downloader"
	"helm.sh/helm/v3/pkg/getter"

	"github.com/ordered-helm/helm/internal/chartdownload"
)

// server serves a chart archive, and an index with its URL. It records the users of the requests for
// the archive.
type server struct {
	*httptest.Server
	users []string
}

func newServer(t *testing.T, archive string) *server {
	t.Helper()
	data, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/index.yaml"):
			_, _ = fmt.Fprintf(w, "apiVersion: v1\nentries: {shop: [{apiVersion: v2, name: shop, version: 0.1.0, urls: [%q]}]}\n", r.URL.Query().Get("chart"))
		default:
			user, _, _ := r.BasicAuth()
			s.users = append(s.users, user)
			_, _ = w.Write(data)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func options(t *testing.T, c helmaction.ChartPathOptions) chartdownload.Options {
	t.Helper()
	settings := cli.New()
	settings.RepositoryCache = filepath.Join(t.TempDir(), "cache")
	settings.RepositoryConfig = filepath.Join(t.TempDir(), "repositories.yaml")
	return chartdownload.Options{Chart: c, Settings: settings, Getters: getter.Getters(), Out: io.Discard}
}

func packedChart(t *testing.T) string {
	t.Helper()
	archive, err := chartutil.Save(&chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "shop", Version: "0.1.0"}}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return archive
}

// TestCredentials checks that credentials for a repository are sent to other hosts only on request.
func TestCredentials(t *testing.T) {
	archive := packedChart(t)
	for name, tt := range map[string]struct {
		sameHost, passAll bool
		want              string
	}{
		"the host of the repository": {sameHost: true, want: "ann"},
		"another host":               {},
		"another host, on request":   {passAll: true, want: "ann"},
	} {
		t.Run(name, func(t *testing.T) {
			repository, other := newServer(t, archive), newServer(t, archive)
			host := other
			if tt.sameHost {
				host = repository
			}
			// The getter asks for URL/index.yaml, and keeps the query.
			o := options(t, helmaction.ChartPathOptions{
				RepoURL: repository.URL + "?chart=" + host.URL + "/shop-0.1.0.tgz", Username: "ann", Password: "secret", PassCredentialsAll: tt.passAll,
			})
			path, err := chartdownload.Locate("shop", o)
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Base(path) != "shop-0.1.0.tgz" || len(host.users) != 1 || host.users[0] != tt.want {
				t.Errorf("got %s, downloaded by %q", path, host.users)
			}
		})
	}
}

func TestLocate(t *testing.T) {
	archive := packedChart(t)
	s := newServer(t, archive)
	for name, tt := range map[string]struct {
		reference string
		verify    bool
		want, err string
	}{
		"local file":       {reference: archive, want: archive},
		"with spaces":      {reference: " " + archive + " ", want: archive},
		"URL":              {reference: s.URL + "/shop-0.1.0.tgz", want: "shop-0.1.0.tgz"},
		"not signed":       {reference: s.URL + "/shop-0.1.0.tgz", verify: true, err: "keyring"},
		"missing file":     {reference: "./missing", err: "not found"},
		"OCI, no registry": {reference: "oci://example.com/shop", err: "missing registry client"},
		"unknown scheme":   {reference: "other://example.com/shop", err: `scheme "other" not supported`},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, helmaction.ChartPathOptions{Verify: tt.verify, Keyring: filepath.Join(t.TempDir(), "missing")})
			got, err := chartdownload.Locate(tt.reference, o)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %q, %v, want the error %q", got, err, tt.err)
				}
				return
			}
			if err != nil || !filepath.IsAbs(got) || !strings.HasSuffix(got, tt.want) {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

func TestDownloadLater(t *testing.T) {
	s := newServer(t, packedChart(t))
	dir := t.TempDir()
	o := options(t, helmaction.ChartPathOptions{})
	o.Verify = downloader.VerifyLater
	if _, _, err := chartdownload.Download(s.URL+"/shop-0.1.0.tgz", dir, o); err != nil {
		t.Fatal(err)
	}
	if files, err := filepath.Glob(filepath.Join(dir, "shop-0.1.0.tgz*")); err != nil || len(files) != 2 {
		t.Errorf("got the files %q, %v", files, err)
	}
}
