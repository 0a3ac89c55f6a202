// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/pkg/action"
)

// valuesChart writes a chart with one ConfigMap that contains the value "color".
func valuesChart(t *testing.T, more map[string]string) string {
	t.Helper()
	files := map[string]string{
		"Chart.yaml":          "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
		"values.yaml":         "color: red\n",
		"templates/cm.yaml":   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {color: {{ .Values.color }}}\n",
		"templates/NOTES.txt": "It is {{ .Values.color }}.\n",
	}
	for name, text := range more {
		files[name] = text
	}
	return writeChart(t, files)
}

func TestUpgrade(t *testing.T) {
	const happy = "Release \"shop\" has been upgraded. Happy Helming!\nNAME: shop\n"
	chart := valuesChart(t, nil)
	library := valuesChart(t, map[string]string{"Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\ntype: library\n"})
	deprecated := valuesChart(t, map[string]string{"Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\ndeprecated: true\n"})
	lacking := valuesChart(t, map[string]string{"Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\ndependencies: [{name: cache, version: 1.0.0, repository: \"https://127.0.0.1:1\"}]\n"})
	gone := revision(t, 1, action.WaitStrategyNone)
	gone.Info.Status = release.StatusUninstalled
	deployed, uninstalled := store(t, revision(t, 1, action.WaitStrategyNone)), store(t, gone)
	tests := []struct {
		name, line, data string
		code             int
		stdout           []string // in this order; stdout begins with the first
		stderr           string   // the beginning of stderr
	}{
		{name: "upgrade", line: "upgrade shop " + chart, data: deployed, stdout: []string{happy, "REVISION: 2\n", "NOTES:\nIt is red.\n"}},
		{name: "values", line: "upgrade shop --set color=blue " + chart, data: deployed, stdout: []string{happy, "It is blue.\n"}},
		{name: "no notes", line: "upgrade shop --hide-notes " + chart, data: deployed, stdout: []string{happy, "TEST SUITE: None\n"}},
		{name: "JSON", line: "upgrade shop -o json " + chart, data: deployed, stdout: []string{`{"name":"shop"`, `"version":2`}},
		{name: "dry run", line: "upgrade shop --dry-run " + chart, data: deployed, stdout: []string{happy, "STATUS: pending-upgrade\n", "MANIFEST:\n", "color: red"}},
		{name: "deprecated chart", line: "upgrade shop " + deprecated, data: deployed, stdout: []string{happy}, stderr: "WARNING: This chart is deprecated\n"},
		{name: "deprecated flag", line: "upgrade shop --recreate-pods " + chart, data: deployed, stdout: []string{happy},
			stderr: "Flag --recreate-pods has been deprecated, functionality will no longer be updated. Consult the documentation for other methods to recreate pods\n"},
		{name: "no release", line: "upgrade stop " + chart, data: deployed, code: 1, stderr: "Error: UPGRADE FAILED: \"stop\" has no deployed releases\n"},
		{name: "release that was uninstalled", line: "upgrade shop " + chart, data: uninstalled, code: 1, stderr: "Error: UPGRADE FAILED: \"shop\" has no deployed releases\n"},
		{name: "no chart", line: "upgrade shop " + filepath.Join(chart, "none"), data: deployed, code: 1, stderr: "Error: path"},
		{name: "library", line: "upgrade shop " + library, data: deployed, code: 1, stderr: "Error: library charts are not installable\n"},
		{name: "dependency that is not there", line: "upgrade shop " + lacking, data: deployed, code: 1,
			stderr: "Error: An error occurred while checking for chart dependencies. You may need to run `helm dependency build` to fetch missing dependencies: found in Chart.yaml, but missing in charts/ directory: cache\n"},
		{name: "unknown way of trying", line: "upgrade shop --dry-run=perhaps " + chart, data: deployed, code: 1, stderr: "Error: Invalid dry-run flag."},
		{name: "Secrets hidden for nothing", line: "upgrade shop --hide-secret " + chart, data: deployed, code: 1,
			stderr: "Error: UPGRADE FAILED: Hiding Kubernetes secrets requires a dry-run mode\n"},
		{name: "one argument", line: "upgrade shop", data: deployed, code: 1, stderr: "Error: \"helm upgrade\" requires 2 arguments\n\nUsage:  helm upgrade [RELEASE] [CHART] [flags]\n"},
		{name: "no time to get ready", line: "upgrade shop --readiness-timeout 0s " + chart, data: deployed, code: 1, stderr: "Error: --readiness-timeout 0s: must be greater than 0\n"},

		{name: "install", line: "upgrade -i stop " + chart, data: deployed,
			stdout: []string{"Release \"stop\" does not exist. Installing it now.\nNAME: stop\n", "REVISION: 1\n", "It is red.\n"}},
		{name: "install, JSON", line: "upgrade -i stop -o json " + chart, data: deployed, stdout: []string{`{"name":"stop"`, `"version":1`}},
		{name: "install what was uninstalled", line: "upgrade -i shop " + chart, data: uninstalled,
			stdout: []string{"Release \"shop\" does not exist. Installing it now.\nNAME: shop\n", "REVISION: 2\n"}},
		{name: "install is not needed", line: "upgrade -i shop " + chart, data: deployed, stdout: []string{happy, "REVISION: 2\n"}},
		{name: "install fails", line: "upgrade -i stop " + library, data: deployed, code: 1,
			stdout: []string{"Release \"stop\" does not exist. Installing it now.\n"}, stderr: "Error: library charts are not installable\n"},
		{name: "install under a name that cannot be", line: "upgrade -i Shop_ " + chart, data: deployed, code: 1, stderr: "Error: release name is invalid: Shop_\n"},
	}
	server := startMinimalServer(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("HELM_DRIVER", "memory")
			t.Setenv("HELM_MEMORY_DRIVER_DATA", tt.data)
			got := runHelmAt(t, server, strings.Fields(tt.line)...)
			if got.code != tt.code {
				t.Errorf("exit code %d, want %d", got.code, tt.code)
			}
			if !containsInOrder(got.stdout, tt.stdout) || len(tt.stdout) > 0 && !strings.HasPrefix(got.stdout, tt.stdout[0]) || len(tt.stdout) == 0 && got.stdout != "" {
				t.Errorf("stdout:\n%s\nwant, in this order: %q", got.stdout, tt.stdout)
			}
			if !strings.HasPrefix(got.stderr, tt.stderr) || tt.stderr == "" && got.stderr != "" {
				t.Errorf("stderr:\n%s\ndoes not begin with %q", got.stderr, tt.stderr)
			}
		})
	}
}

// TestValuesFromStdin checks that standard input is read only once: a second read would
// find it empty.
func TestValuesFromStdin(t *testing.T) {
	chart := valuesChart(t, nil)
	t.Setenv("HELM_DRIVER", "memory")
	t.Setenv("HELM_MEMORY_DRIVER_DATA", store(t, revision(t, 1, action.WaitStrategyNone)))
	values := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(values, []byte("color: green\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	server := startMinimalServer(t)
	terminal := os.Stdin
	defer func() { os.Stdin = terminal }()
	for _, line := range []string{"upgrade shop", "upgrade -i shop", "upgrade -i stop"} {
		t.Run(line, func(t *testing.T) {
			file, err := os.Open(values)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = file.Close() })
			os.Stdin = file
			got := runHelmAt(t, server, append(strings.Fields(line), chart, "--values", "-")...)
			if got.code != 0 || !strings.Contains(got.stdout, "It is green.") {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestUpgradeFlags checks which options the flags of upgrade set, and that --install passes
// all of them that apply to the install action.
func TestUpgradeFlags(t *testing.T) {
	t.Setenv("HELM_MAX_HISTORY", "7")
	a := &app{settings: cli.New(), config: new(action.Configuration), out: t.Output(), errOut: t.Output()}
	in := newUpgradeActionInput(a)
	cmd := newUpgradeCmd(in)
	if in.client.MaxHistory != 7 {
		t.Errorf("by default %d revisions are kept", in.client.MaxHistory)
	}
	// Every boolean is set to true, and every other flag gets a different value.
	if err := cmd.ParseFlags(strings.Fields(`--atomic --cleanup-on-fail --create-namespace --dependency-update --devel
		--disable-openapi-validation --enable-dns --force --hide-notes --hide-secret --insecure-skip-tls-verify --install
		--no-hooks --pass-credentials --plain-http --recreate-pods --render-subchart-notes --reset-then-reuse-values --reset-values --reuse-values
		--skip-crds --crds skip --skip-schema-validation --take-ownership --verify --wait-for-jobs
		--wait=ordered --readiness-timeout 20s --timeout 1m --dry-run --history-max 3 --description why -l a=b
		--ca-file ca --cert-file cert --key-file key --keyring ring --username me --password secret --repo https://example.com --version 1.2.3
		--set a=b --post-renderer cat`)); err != nil {
		t.Fatal(err)
	}
	for flag, ok := range map[string]bool{
		"history-max": in.client.MaxHistory == 3, "install": in.client.Install, "cleanup-on-fail": in.client.CleanupOnFail,
		"recreate-pods": in.client.Recreate, "reset-values": in.client.ResetValues, "reuse-values": in.client.ReuseValues,
		"reset-then-reuse-values": in.client.ResetThenReuseValues, "wait": in.client.WaitStrategy == action.WaitStrategyOrdered,
		"create-namespace": in.createNamespace, "set": slices.Equal(in.values.Values, []string{"a=b"}), "dry-run": in.client.DryRunOption == "client",
	} {
		if !ok {
			t.Errorf("--%s has not arrived", flag)
		}
	}
	in.client.Wait, in.client.DryRun, in.client.Namespace = true, true, "shop"

	install := in.asInstall(true)
	if !install.client.CreateNamespace || !install.client.Replace || install.client.WaitStrategy != action.WaitStrategyOrdered ||
		install.client.ReadinessTimeout != 20*time.Second || install.client.CRDs != action.CRDPolicySkip || !slices.Equal(install.values.Values, []string{"a=b"}) {
		t.Errorf("not as wanted: %+v", install)
	}
	if !install.client.WaitForJobs || install.client.IgnoreJobs {
		t.Error("--wait-for-jobs has not arrived")
	}
	from, to := reflect.ValueOf(in.client.Upgrade).Elem(), reflect.ValueOf(install.client.Install).Elem()
	shared := 0
	for _, field := range reflect.VisibleFields(reflect.TypeFor[helmaction.Install]()) {
		source := from.FieldByName(field.Name)
		if !field.IsExported() || field.Name == "Lock" || !source.IsValid() {
			continue
		}
		shared++
		if source.IsZero() {
			t.Errorf("%s was not set by any flag", field.Name)
		}
		if got, want := to.FieldByIndex(field.Index).Interface(), source.Interface(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %v, want %v", field.Name, got, want)
		}
	}
	if shared < 30 {
		t.Errorf("only %d fields compared", shared)
	}
}

func TestFailedUpgradeAsJSON(t *testing.T) {
	chart := valuesChart(t, nil)
	t.Setenv("HELM_DRIVER", "memory")
	t.Setenv("HELM_MEMORY_DRIVER_DATA", store(t, revision(t, 1, action.WaitStrategyNone)))
	for line, printed := range map[string]bool{
		"upgrade stop -o json --wait=ordered": true,
		"upgrade stop -o json --wait":         false,
		"upgrade stop -o json":                false,
		"upgrade stop --wait=ordered":         false,
	} {
		t.Run(line, func(t *testing.T) {
			got := runHelm(t, append(strings.Fields(line), chart)...)
			if got.code != 1 || got.stderr != "Error: UPGRADE FAILED: \"stop\" has no deployed releases\n" {
				t.Errorf("%+v", got)
			}
			if !printed {
				if got.stdout != "" {
					t.Errorf("stdout: %s", got.stdout)
				}
				return
			}
			var result struct{ Failure struct{ Summary string } }
			if err := json.Unmarshal([]byte(got.stdout), &result); err != nil || !strings.Contains(result.Failure.Summary, "no deployed releases") {
				t.Errorf("%v: %s", err, got.stdout)
			}
		})
	}
}
