// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// secretsManifest is a plugin.yaml in the form of helm-secrets's releases.
const secretsManifest = `name: "secrets"
version: "4.7.4"
usage: "Secrets encryption in Helm for Git storing"
description: |-
  This plugin provides secrets values encryption for Helm charts secure storing
useTunnel: false
platformCommand:
  - os: linux
    command: "$HELM_PLUGIN_DIR/bin/program"
downloaders:
  - command: "bin/program downloader"
    protocols:
      - "secrets"
      - "secrets+age-import"
      - "secrets+literal"
`

// installSecrets installs testdata/helm-secrets.sh as the plugin helm-secrets, and writes an
// encrypted values file.
func (w *workspace) installSecrets(t *testing.T, values string) {
	t.Helper()
	script, err := os.ReadFile(filepath.Join("testdata", "helm-secrets.sh"))
	harness.NoError(t, err)
	w.write(t, map[string]string{"helm-secrets.sh": string(script), "secrets.yaml": base64.StdEncoding.EncodeToString([]byte(values))})
	w.installPlugin(t, secretsManifest, filepath.Join(w.dir, "helm-secrets.sh"))
}

// TestHelmSecrets installs a chart in order with the calls of helm-secrets.
func TestHelmSecrets(t *testing.T) {
	t.Parallel()
	toolsDir(t)
	for name, args := range map[string][]string{
		"wrapper":       {"secrets", "install", "rel", "{chart}", "-f", "secrets.yaml"},
		"downloader":    {"install", "rel", "{chart}", "--values", "secrets://secrets.yaml"},
		"post-renderer": {"secrets", "--evaluate-templates", "install", "rel", "{chart}", "--values", "secrets.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			w.installSecrets(t, "value: ref+fake:one\n")
			want := "ref+fake:one"
			if name == "post-renderer" {
				want = "decrypted-one"
			}
			for i, arg := range args {
				if arg == "{chart}" {
					args[i] = releaseChart(t, "app")
				}
			}
			w.Started = harness.Now()
			w.mustExec(t, "helm", append(args, "--wait=ordered", "--timeout", "2m")...)
			w.CheckOrder(t, "rel", w.ReadTrace(t))
			if got := harness.ValueOf(w.Get(t, "ConfigMap/app-first")); got != want {
				t.Errorf("the value is %q, want %q", got, want)
			}
			if left, err := filepath.Glob(filepath.Join(w.dir, "*.dec")); err != nil || len(left) > 0 {
				t.Errorf("decrypted files are left: %v, %v", left, err)
			}
		})
	}
}

// TestHelmSecretsFailure checks that the error and the exit code of helm pass through the
// plugin.
func TestHelmSecretsFailure(t *testing.T) {
	t.Parallel()
	toolsDir(t)
	w := newWorkspace(t)
	w.installSecrets(t, "value: one\n")
	out := w.expectExit(t, 1, "helm", "secrets", "install", "rel", charts.HangingChart(t, "1s"), "-f", "secrets.yaml", "--wait=ordered")
	harness.ExpectContains(t, out, "INSTALLATION FAILED: Pod/never was not ready within 1s", `plugin "secrets" exited with error`)
}

// TestHelmSecretsGetter makes the call with which helm-secrets fetches values files from
// addresses: it renders a chart of its own that prints a file, and removes the first three
// lines.
func TestHelmSecretsGetter(t *testing.T) {
	t.Parallel()
	toolsDir(t)
	w := newWorkspace(t)
	w.installSecrets(t, "value: one\n")
	getter := charts.WriteFiles(t, map[string]string{
		"Chart.yaml":            "apiVersion: v2\nname: getter\nversion: 1.0.0\n",
		"values.yaml":           "content: ''\n",
		"templates/values.yaml": "content: |\n  {{- .Values.content | nindent 2 }}\n",
	})
	args := []string{"template", getter, "--set-file", "content=secrets://secrets.yaml"}
	want := "---\n# Source: getter/templates/values.yaml\ncontent: |\n  value: one\n"
	if got := w.mustExec(t, "helm", args...); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
