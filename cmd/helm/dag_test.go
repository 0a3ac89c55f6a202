// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/pkg/action"
	"github.com/ordered-helm/helm/pkg/chart/loader"
)

const (
	orderedChart = "apiVersion: v3\nname: shop\nversion: 1.0.0\n"
	layers       = `apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-web
  namespace: {{ .Release.Namespace }}
  annotations:
    helm.sh/layer: web
    helm.sh/depends-on/layers: [{{ .Values.after | default "database" }}]
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-database
  annotations:
    helm.sh/layer: database
`
)

func TestDagOfAChart(t *testing.T) {
	chart := writeChart(t, map[string]string{"Chart.yaml": orderedChart, "templates/layers.yaml": layers})
	tests := []struct {
		name   string
		args   []string
		code   int
		stdout []string // in this order
		stderr string
	}{
		{name: "order", stdout: []string{"batch 1", "ConfigMap/release-name-database", "batch 2", "ConfigMap/release-name-web"}},
		{name: "layer that does not exist", args: []string{"--set", "after=queue"},
			stdout: []string{"ConfigMap/release-name-web"}, stderr: "WARNING: "},
		{name: "cycle", args: []string{"--set", "after=web"}, code: 1, stderr: "Error: dependency cycle"},
		{name: "values that are not there", args: []string{"-f", "none.yaml"}, code: 1, stderr: "Error: open none.yaml"},
		{name: "two charts", args: []string{"another"}, code: 1, stderr: `Error: "helm dag" accepts at most 1 argument`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := runHelm(t, append([]string{"dag", chart}, tt.args...)...)
			if got.code != tt.code {
				t.Errorf("exit code %d, want %d: %s", got.code, tt.code, got.stderr)
			}
			if !containsInOrder(got.stdout, tt.stdout) {
				t.Errorf("stdout:\n%s\nhas not, in this order: %q", got.stdout, tt.stdout)
			}
			if !strings.HasPrefix(got.stderr, tt.stderr) || tt.stderr == "" && got.stderr != "" {
				t.Errorf("stderr %q does not begin with %q", got.stderr, tt.stderr)
			}
		})
	}
}

func TestDagOfTheCurrentFolder(t *testing.T) {
	t.Chdir(writeChart(t, map[string]string{"Chart.yaml": orderedChart, "templates/layers.yaml": layers}))
	if got := runHelm(t, "dag"); got.code != 0 || !strings.Contains(got.stdout, "batch 2") {
		t.Errorf("%+v", got)
	}
}

func TestDagWarnsOfWhatIsDeployedTooLate(t *testing.T) {
	chart := writeChart(t, map[string]string{"Chart.yaml": orderedChart, "templates/trap.yaml": `apiVersion: v1
kind: Pod
metadata:
  name: web
  annotations:
    helm.sh/layer: web
spec:
  containers:
    - name: web
      image: web
      envFrom:
        - secretRef: {name: password}
---
apiVersion: v1
kind: Secret
metadata:
  name: password
`})
	got := runHelm(t, "dag", chart)
	if got.code != 0 || !strings.Contains(got.stderr, "WARNING: Pod/web") || !strings.Contains(got.stderr, "Secret/password") {
		t.Errorf("%+v", got)
	}
}

func TestDagOfARelease(t *testing.T) {
	t.Setenv("HELM_DRIVER", "memory")
	t.Setenv("HELM_MEMORY_DRIVER_DATA", storeReleases(t))
	t.Chdir(t.TempDir())
	tests := []struct {
		name, line     string
		code           int
		stdout, stderr string
	}{
		{name: "by name", line: "dag shop", stdout: "ConfigMap/shop-web"},
		{name: "by revision", line: "dag shop --revision 2", stdout: "ConfigMap/shop-web"},
		{name: "not deployed in order", line: "dag shop --revision 1", code: 1, stderr: `revision 1 of release "shop" was not deployed in order`},
		{name: "revision that is not there", line: "dag shop --revision 3", code: 1, stderr: "release: not found"},
		{name: "neither chart nor release", line: "dag stop", code: 1, stderr: `neither a chart at ./stop nor a release "stop"`},
		{name: "said to be a release", line: "dag --release ./shop", code: 1, stderr: "Release name is invalid: ./shop"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := runHelm(t, strings.Fields(tt.line)...)
			if got.code != tt.code || !strings.Contains(got.stdout, tt.stdout) || !strings.Contains(got.stderr, tt.stderr) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// storeReleases writes a file for the memory driver with two revisions of a
// release, of which the second is ordered, and returns its path.
func storeReleases(t *testing.T) string {
	t.Helper()
	dir := writeChart(t, map[string]string{"Chart.yaml": orderedChart, "templates/layers.yaml": layers})
	var releases []*release.Release
	for i, strategy := range []action.WaitStrategy{action.WaitStrategyNone, action.WaitStrategyOrdered} {
		chrt, err := loader.Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		install := action.NewInstall(&action.Configuration{Log: t.Logf})
		install.ClientOnly, install.DryRun = true, true
		install.ReleaseName, install.Namespace = "shop", "default"
		install.WaitStrategy = strategy
		rel, err := install.RunWithContext(t.Context(), chrt, nil)
		if err != nil {
			t.Fatal(err)
		}
		rel.Version = i + 1
		releases = append(releases, rel)
	}
	data, err := yaml.Marshal(releases)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "releases.yaml")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestNamesChart(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("here", 0o755); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		subject, repo string
		want          bool
	}{
		{subject: "shop", want: false},
		{subject: "here", want: true},
		{subject: "./shop", want: true},
		{subject: ".", want: true},
		{subject: "example/shop", want: true},
		{subject: "/nowhere/shop", want: true},
		{subject: "oci://example.com/shop", want: true},
		{subject: "https://example.com/shop.tgz", want: true},
		{subject: "shop", repo: "https://example.com", want: true},
	}
	for _, tt := range tests {
		if got := namesChart(tt.subject, tt.repo); got != tt.want {
			t.Errorf("%q with repository %q: %v, want %v", tt.subject, tt.repo, got, tt.want)
		}
	}
}

func containsInOrder(text string, parts []string) bool {
	for _, part := range parts {
		_, after, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = after
	}
	return true
}
