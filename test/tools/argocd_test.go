// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/chartserver"
	"github.com/ordered-helm/helm/test/harness"
	"github.com/ordered-helm/helm/test/ociregistry"
)

const (
	argoUser     = "argo"
	argoPassword = "some,password"
)

// argo makes the calls of Argo CD's repo server, with a helm binary, in the directory of an
// application. Each instance has its own configuration, as in Argo CD.
type argo struct {
	*workspace
	binary, source string
	// transcript contains the calls and their output.
	transcript strings.Builder
}

func newArgo(t *testing.T, binary, source string) *argo {
	t.Helper()
	a := &argo{workspace: newWorkspace(t), binary: binary, source: source}
	a.dir = charts.Copy(t, source)
	home := t.TempDir()
	a.Env = nil
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "HELM_") && !strings.HasPrefix(variable, "KUBECONFIG=") {
			a.Env = append(a.Env, variable)
		}
	}
	a.Env = append(a.Env, "XDG_CACHE_HOME="+home+"/cache", "XDG_CONFIG_HOME="+home+"/config", "XDG_DATA_HOME="+home+"/data",
		"HELM_CONFIG_HOME="+home+"/config")
	return a
}

// call runs helm and adds its standard output, or its standard error if it fails, to the
// transcript. Argo CD uses no more of its output.
func (a *argo) call(t *testing.T, code int, args ...string) harness.Result {
	t.Helper()
	r := a.runProgram(t, a.binary, args...)
	if r.ExitCode != code {
		t.Fatalf("helm %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), r.ExitCode, code, r.Stdout, r.Stderr)
	}
	output := r.Stdout
	if code != 0 {
		output = r.Stderr
	}
	// The password file and the directories differ between the two instances.
	text := strings.ReplaceAll("helm "+strings.Join(args, " ")+"\n"+output, a.dir, "DIR")
	a.transcript.WriteString(tempDir.ReplaceAllString(text, "TMP"))
	return r
}

var tempDir = regexp.MustCompile(regexp.QuoteMeta(os.TempDir()) + `/\S+`)

// argoServers are a chart repository and a registry that require a password.
type argoServers struct {
	repository *chartserver.Server
	registry   *ociregistry.Registry
}

// startArgoServers starts the servers. The chart cache is in the repository, the chart queue
// in the registry.
func startArgoServers(t *testing.T) argoServers {
	t.Helper()
	dir := t.TempDir()
	cache := charts.Chart{Name: "cache", Objects: []charts.Object{{Name: "cache"}}}.Write(t)
	queue := charts.Chart{Name: "queue", Objects: []charts.Object{{Name: "queue"}}}.Write(t)
	harness.NoError(t, chartserver.Publish(loader.LoadDir, dir, cache))
	s := argoServers{
		repository: chartserver.Start(t, dir, chartserver.Options{Username: argoUser, Password: argoPassword, TLS: true}),
		registry:   ociregistry.Start(t, ociregistry.Options{Users: map[string]string{argoUser: argoPassword}, TLS: true}),
	}
	w := newWorkspace(t)
	w.mustExec(t, "helm", "registry", "login", s.registry.Host(), "--username", argoUser, "--password", argoPassword, "--ca-file", s.registry.CAFile())
	w.mustExec(t, "helm", "package", queue)
	w.mustExec(t, "helm", "push", "queue-0.1.0.tgz", "oci://"+s.registry.Host()+"/charts", "--ca-file", s.registry.CAFile())
	return s
}

// application writes the chart of an application, which depends on both charts in order.
func (s argoServers) application(t *testing.T) string {
	t.Helper()
	return charts.Chart{
		Metadata: "dependencies:\n" +
			"  - {name: cache, version: 0.1.0, repository: " + s.repository.URL + "}\n" +
			"  - {name: queue, version: 0.1.0, repository: 'oci://" + s.registry.Host() + "/charts', depends-on: [cache]}\n",
		Values: "# a comment\nvalue: '0'\n",
		CRDs:   charts.Definition("ordered.example", "Thing").Manifest(),
		Objects: []charts.Object{
			{Name: "first", Layer: "first", Value: "{{ .Values.value }}"},
			{Name: "last", Layer: "last", DependsOn: "first", Value: "{{ .Capabilities.KubeVersion }}{{ .Capabilities.APIVersions.Has \"ordered.example/v1/Thing\" }}"},
			{Kind: "Job", Name: "migration", Hook: "pre-install"},
			{Kind: "Pod", Name: "check", Hook: "test"},
		},
	}.Write(t)
}

// TestArgoCD makes the calls of Argo CD (util/helm/cmd.go) for an application whose
// dependencies are in a repository and a registry with passwords, with Ordered Helm and with
// stock Helm. What Argo CD sees must be the same.
func TestArgoCD(t *testing.T) {
	t.Parallel()
	toolsDir(t)
	servers := startArgoServers(t)
	source := servers.application(t)
	set := binaries.Get(t)
	ours, stock := newArgo(t, set.Helm, source), newArgo(t, set.Stock, source)
	for _, a := range []*argo{ours, stock} {
		// `helm dependency build` cannot be given the authority of a registry: it must be one of
		// the system's.
		a.Env = append(a.Env, "SSL_CERT_FILE="+servers.registry.CAFile())
		a.sync(t, servers)
		a.pull(t, servers)
	}
	if got, want := ours.transcript.String(), stock.transcript.String(); got != want {
		t.Errorf("Argo CD sees something else than with stock Helm:\n%s\nwith stock Helm:\n%s", got, want)
	}
	version := ours.call(t, 0, "version", "--client", "--short").Stdout
	if !regexp.MustCompile(`^v3\.\d+\.\d+\+`).MatchString(version) {
		t.Errorf("the version is %q", version)
	}
}

// sync makes the calls for an application in git: Argo CD builds the dependencies when
// `helm template` reports that they are missing.
func (a *argo) sync(t *testing.T, s argoServers) {
	t.Helper()
	harness.NoError(t, os.WriteFile(filepath.Join(a.dir, "file.txt"), []byte("text"), 0o600))
	harness.NoError(t, os.WriteFile(filepath.Join(a.dir, "more.yaml"), []byte("value: more\n"), 0o600))
	template := []string{
		"template", ".", "--name-template", "app", "--namespace", "apps", "--kube-version", "1.33.1",
		"--set", "text=a\\,b", "--set-string", "number=1", "--set-file", "file=file.txt", "--values", "more.yaml",
		"--api-versions", "ordered.example/v1", "--api-versions", "ordered.example/v1/Thing", "--include-crds",
	}
	missing := a.call(t, 1, template...)
	harness.ExpectContains(t, missing.Stderr, "found in Chart.yaml, but missing in charts/ directory")
	a.call(t, 0, "registry", "login", s.registry.Host(), "--username", argoUser, "--password", argoPassword, "--ca-file", s.registry.CAFile())
	a.call(t, 0, "repo", "add", "--username", argoUser, "--password", argoPassword, "--ca-file", s.repository.CAFile, "private", s.repository.URL)
	a.call(t, 0, "dependency", "build")
	a.call(t, 0, "registry", "logout", s.registry.Host())
	rendered := a.call(t, 0, template...).Stdout
	harness.ExpectContains(t, rendered, "kind: CustomResourceDefinition", "name: cache", "name: queue", `value: "more"`, "v1.33.1true", "name: check")
	a.call(t, 0, append(template, "--skip-tests", "--skip-schema-validation")...)
	a.call(t, 0, "show", "values", ".")
	// For this chart, stock Helm omits depends-on.
	a.call(t, 0, "show", "chart", filepath.Join("charts", "cache-0.1.0.tgz"))
}

// pull makes the calls for applications whose charts are in a repository or a registry.
func (a *argo) pull(t *testing.T, s argoServers) {
	t.Helper()
	destination := t.TempDir()
	a.call(t, 0, "pull", "--destination", destination, "--version", "0.1.0", "--username", argoUser, "--password", argoPassword,
		"--repo", s.repository.URL, "cache", "--ca-file", s.repository.CAFile, "--pass-credentials")
	a.call(t, 0, "registry", "login", s.registry.Host(), "--username", argoUser, "--password", argoPassword, "--ca-file", s.registry.CAFile())
	a.call(t, 0, "pull", "oci://"+s.registry.Host()+"/charts/queue", "--version", "0.1.0", "--destination", destination, "--ca-file", s.registry.CAFile())
	for _, name := range []string{"cache-0.1.0.tgz", "queue-0.1.0.tgz"} {
		if _, err := os.Stat(filepath.Join(destination, name)); err != nil {
			t.Error(err)
		}
	}
	a.call(t, 0, "show", "values", filepath.Join(destination, "queue-0.1.0.tgz"))
}
