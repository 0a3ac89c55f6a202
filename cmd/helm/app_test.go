// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

// outcome holds the output and exit code of one run of the program.
type outcome struct {
	code           int
	stdout, stderr string
}

// runHelm runs the program in the process of the test, with an empty home directory and
// without a cluster. It changes the environment, so tests that use it must not run in
// parallel.
func runHelm(t *testing.T, args ...string) outcome {
	t.Helper()
	return runHelmAt(t, "http://127.0.0.1:1", args...) // no server listens there
}

// runHelmAt is like runHelm, with the API server at the given URL.
func runHelmAt(t *testing.T, server string, args ...string) outcome {
	t.Helper()
	isolate(t, server)
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), args, &stdout, &stderr)
	return outcome{code: code, stdout: stdout.String(), stderr: stderr.String()}
}

// startMinimalServer starts an API server that reports its version and supports no kinds of
// objects. Together with the storage driver "memory", it is sufficient for rendering charts.
func startMinimalServer(t *testing.T) (url string) {
	t.Helper()
	answers := map[string]string{
		"/version": `{"major": "1", "minor": "36", "gitVersion": "v1.36.0"}`,
		"/api":     `{"kind": "APIVersions", "versions": []}`,
		"/apis":    `{"kind": "APIGroupList", "apiVersion": "v1", "groups": []}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// isolate sets the environment to an empty home directory and the given API server.
func isolate(t *testing.T, server string) {
	t.Helper()
	home := t.TempDir()
	for _, name := range []string{"HOME", "HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"} {
		t.Setenv(name, home)
	}
	t.Setenv("KUBECONFIG", filepath.Join(home, "none"))
	t.Setenv("HELM_KUBEAPISERVER", server)
}

// writeChart writes a chart to a new directory and returns its path. The keys of files are the
// paths of the files in the chart.
func writeChart(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "chart")
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestStorageDriver(t *testing.T) {
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken.yaml")
	if err := os.WriteFile(broken, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, driver, data string
		want               outcome
	}{
		{name: "unknown", driver: "papyrus", want: outcome{1, "", "Error: unknown driver \"papyrus\"\n"}},
		{name: "memory without data", driver: "memory", want: outcome{0, "", ""}},
		{name: "memory with a file that is not there", driver: "memory", data: filepath.Join(dir, "none.yaml"),
			want: outcome{1, "", "Error: HELM_MEMORY_DRIVER_DATA: open " + filepath.Join(dir, "none.yaml") + ": no such file or directory\n"}},
		{name: "memory with a broken file", driver: "memory", data: broken,
			want: outcome{1, "", "Error: HELM_MEMORY_DRIVER_DATA: " + broken + ": error converting YAML to JSON: yaml: line 1: did not find expected node content\n"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("HELM_DRIVER", tt.driver)
			t.Setenv("HELM_MEMORY_DRIVER_DATA", tt.data)
			if got := runHelm(t, "list", "--short"); got != tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestProfiles(t *testing.T) {
	dir := t.TempDir()
	cpu, heap := filepath.Join(dir, "cpu"), filepath.Join(dir, "heap")
	t.Setenv("HELM_PPROF_CPU_PROFILE", cpu)
	t.Setenv("HELM_PPROF_MEM_PROFILE", heap)
	if got := runHelm(t, "version", "--short"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	for _, path := range []string{cpu, heap} {
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("no profile in %s: %v", path, err)
		}
	}
}
