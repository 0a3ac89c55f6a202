// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/cmd/helm/search"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/repo"
)

func TestLockPath(t *testing.T) {
	for file, want := range map[string]string{
		"/config/repositories.yaml": "/config/repositories.lock",
		"repositories":              "repositories.lock",
		"a.b/repositories":          "a.b/repositories.lock",
		".hidden":                   ".hidden.lock",
	} {
		if got := lockPath(file); got != want {
			t.Errorf("of %s: %s, want %s", file, got, want)
		}
	}
}

func TestRejectRetiredRepository(t *testing.T) {
	for address, gone := range map[string]bool{
		"https://kubernetes-charts.storage.googleapis.com":            true,
		"http://kubernetes-charts-incubator.storage.googleapis.com/x": true,
		"https://charts.helm.sh/stable":                               false,
	} {
		if err := rejectRetiredRepository(address); (err != nil) != gone {
			t.Errorf("%s: error is %v", address, err)
		}
	}
}

func TestWithinRange(t *testing.T) {
	result := func(name, version string) *search.Result {
		return &search.Result{Name: name, Chart: &repo.ChartVersion{Metadata: &chart.Metadata{Name: name, Version: version}}}
	}
	results := []*search.Result{
		result("a", "2.0.0-rc.1"), result("a", "1.1.0"), result("a", "1.0.0"), result("b", "latest"), result("b", "0.1.0"),
	}
	tests := []struct {
		name, versions string
		all            bool
		want           []string
	}{
		{"stable", ">0.0.0", false, []string{"a 1.1.0", "b 0.1.0"}},
		{"development", ">0.0.0-0", false, []string{"a 2.0.0-rc.1", "b 0.1.0"}},
		{"all of a range", "^1", true, []string{"a 1.1.0", "a 1.0.0"}},
		{"none", ">9", true, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			within, err := withinRange(results, tt.versions, tt.all)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range within {
				got = append(got, r.Name+" "+r.Chart.Version)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	if _, err := withinRange(results, "soon", false); err == nil {
		t.Error("a range that is none was taken")
	}
}

// TestSearchWithoutLibraries searches a repository with a library chart, and with a chart that was
// a library once.
func TestSearchWithoutLibraries(t *testing.T) {
	home := t.TempDir()
	const index = `apiVersion: v1
entries:
  common:
  - {name: common, version: 2.0.0, type: library, apiVersion: v2}
  shop:
  - {name: shop, version: 1.1.0, type: library, apiVersion: v2}
  - {name: shop, version: 1.0.0, type: application, apiVersion: v2}
  - {name: shop, version: 0.9.0, apiVersion: v1}
`
	for name, content := range map[string]string{"repositories.yaml": "repositories: [{name: charts, url: http://charts.invalid}]\n", "charts-index.yaml": index} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, `[{"name":"charts/common","version":"2.0.0","app_version":"","description":""},{"name":"charts/shop","version":"1.1.0","app_version":"","description":""}]`},
		{[]string{"--exclude-libraries"}, `[{"name":"charts/shop","version":"1.0.0","app_version":"","description":""}]`},
		{[]string{"shop", "--exclude-libraries", "--versions"}, `[{"name":"charts/shop","version":"1.0.0","app_version":"","description":""},{"name":"charts/shop","version":"0.9.0","app_version":"","description":""}]`},
		{[]string{"common", "--exclude-libraries"}, `[]`},
	} {
		args := append([]string{"search", "repo", "-o", "json", "--repository-config", filepath.Join(home, "repositories.yaml"), "--repository-cache", home}, c.args...)
		if got := runHelm(t, args...); got.code != 0 || strings.TrimSpace(got.stdout) != c.want {
			t.Errorf("%q: got %+v", c.args, got)
		}
	}
}

func TestRepositoriesWithAnEmptyEntry(t *testing.T) {
	a := newRepositoriesApp(t)
	file, err := a.repositories()
	if err != nil || len(file.Repositories) != 2 {
		t.Errorf("%d repositories, error %v", len(file.Repositories), err)
	}
	a.errOut = new(bytes.Buffer)
	a.warnOfRetiredRepositories()
}

// TestUpdateRepositories checks that the results are printed in the order of the
// repositories.
func TestUpdateRepositories(t *testing.T) {
	good := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("apiVersion: v1\nentries: {}\n"))
	}))
	defer good.Close()
	bad := httptest.NewServer(http.NotFoundHandler())
	defer bad.Close()
	a := newRepositoriesApp(t)
	var out bytes.Buffer
	a.out = &out
	repositories := fmt.Sprintf("repositories:\n- {name: a, url: %[1]q}\n- {name: b, url: %[2]q}\n- {name: c, url: %[1]q}\n", good.URL, bad.URL)
	if err := os.WriteFile(a.settings.RepositoryConfig, []byte(repositories), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := a.updateRepositories(t.Context(), nil, time.Minute, false); err != nil {
		t.Errorf("failures that do not count: %v", err)
	}
	want := fmt.Sprintf(`Hang tight while we grab the latest from your chart repositories...
...Successfully got an update from the "a" chart repository
...Unable to get an update from the "b" chart repository (%[1]s):
	failed to fetch %[1]s/index.yaml : 404 Not Found
...Successfully got an update from the "c" chart repository
Update Complete. ⎈Happy Helming!⎈
`, bad.URL)
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", &out, want)
	}
	if err := a.updateRepositories(t.Context(), nil, time.Minute, true); err == nil || !strings.Contains(err.Error(), "["+bad.URL+"]") {
		t.Errorf("failures that count: %v", err)
	}
	if err := a.updateRepositories(t.Context(), []string{"a", "c"}, time.Minute, true); err != nil {
		t.Errorf("those that can be reached: %v", err)
	}
}

func TestDocsHeader(t *testing.T) {
	if got, want := docsHeader("/out/helm_get_all.md"), "---\ntitle: \"Helm Get All\"\n---\n\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
