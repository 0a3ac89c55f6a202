// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartrepo

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/getter"
	"helm.sh/helm/v3/pkg/repo"
)

// TestFetch checks that indexes are downloaded in parallel, and reported in the order of the
// repositories.
func TestFetch(t *testing.T) {
	quick := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/slow"):
			<-quick
		case strings.HasPrefix(r.URL.Path, "/none"):
			http.NotFound(w, r)
			return
		default:
			close(quick)
		}
		fmt.Fprint(w, "apiVersion: v1\nentries:\n  shop:\n  - name: shop\n    version: 1.0.0\n")
	}))
	defer server.Close()
	var repositories []*repo.ChartRepository
	for _, name := range []string{"slow", "none", "quick"} {
		r, err := repo.NewChartRepository(&repo.Entry{Name: name, URL: server.URL + "/" + name}, getter.All(cli.New()))
		if err != nil {
			t.Fatal(err)
		}
		r.CachePath = t.TempDir()
		repositories = append(repositories, r)
	}
	reported := ""
	Fetch(repositories, func(r *repo.ChartRepository, err error) {
		reported += fmt.Sprintf("%s %t ", r.Config.Name, err == nil)
	})
	if want := "slow true none false quick true "; reported != want {
		t.Errorf("it reports %q, want %q", reported, want)
	}
	index, err := repo.LoadIndexFile(filepath.Join(repositories[2].CachePath, "quick-index.yaml"))
	if err != nil || !index.Has("shop", "1.0.0") {
		t.Errorf("the index has no chart: %v", err)
	}
}

func TestLoadFileLeavesEmptyEntriesOut(t *testing.T) {
	name := filepath.Join(t.TempDir(), "repositories.yaml")
	if err := os.WriteFile(name, []byte("apiVersion: v1\nrepositories: [null, {name: a, url: https://a.example}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := LoadFile(name)
	if err != nil || len(file.Repositories) != 1 || file.Repositories[0].Name != "a" {
		t.Errorf("got %v, %v", file, err)
	}
}
