// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/chartserver"
	"github.com/ordered-helm/helm/test/harness"
	"github.com/ordered-helm/helm/test/ociregistry"
)

// publish writes charts and their index to a directory.
func publish(t *testing.T, folder string, all ...map[string]string) {
	t.Helper()
	var dirs []string
	for _, files := range all {
		dirs = append(dirs, charts.WriteFiles(t, files))
	}
	harness.NoError(t, chartserver.Publish(loader.LoadDir, folder, dirs...))
}

// createSecret creates a Secret in the namespace.
func (e *env) createSecret(t *testing.T, namespace, name string, data map[string]string) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: data}
	_, err := e.Cluster.Client().CoreV1().Secrets(namespace).Create(t.Context(), secret, metav1.CreateOptions{})
	harness.NoError(t, err)
}

// fileText returns the content of a file.
func fileText(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	harness.NoError(t, err)
	return string(data)
}

// TestChartSources deploys charts from every kind of source.
//   - "Signatures and provenance files are not verified"
func TestChartSources(t *testing.T) {
	t.Parallel()
	e, _ := start(t)
	folder := t.TempDir()
	publish(t, folder, chartFiles("1.0.0", ""), chartFiles("1.2.0", ""), chartFiles("2.0.0", ""))
	open := chartserver.Start(t, folder, chartserver.Options{})
	closed := chartserver.Start(t, folder, chartserver.Options{Username: "anna", Password: "s3cret-word", ClientCertificates: true})
	e.createSecret(t, e.Namespace, "credentials", map[string]string{
		"username": "anna", "password": "s3cret-word", "ca.crt": fileText(t, closed.CAFile), "tls.crt": fileText(t, closed.CertFile), "tls.key": fileText(t, closed.KeyFile),
	})
	plain := ociregistry.Start(t, ociregistry.Options{})
	registry := ociregistry.Start(t, ociregistry.Options{TLS: true, Users: map[string]string{"anna": "s3cret-word"}})
	e.createSecret(t, e.Namespace, "registry", map[string]string{"username": "anna", "password": "s3cret-word", "ca.crt": fileText(t, registry.CAFile())})
	for _, version := range []string{"1.0.0", "1.2.0"} {
		file := filepath.Join(folder, "app-"+version+".tgz")
		e.MustRun("push", file, "oci://"+plain.Host()+"/charts", "--plain-http")
		e.MustRun("registry", "login", registry.Host(), "-u", "anna", "-p", "s3cret-word", "--ca-file", registry.CAFile())
		e.MustRun("push", file, "oci://"+registry.Host()+"/charts", "--ca-file", registry.CAFile())
	}
	if out, err := e.Kubectl(t, "create", "configmap", "chart", "--from-file", "app.tgz="+filepath.Join(folder, "app-1.2.0.tgz")); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	e.createSecret(t, e.Namespace, "chart", map[string]string{"app.tgz": fileText(t, filepath.Join(folder, "app-1.0.0.tgz"))})
	for _, c := range []struct{ name, source, want string }{
		{"repository", "repository: " + open.URL + ", name: app", "2.0.0"},
		{"range", "repository: " + open.URL + ", name: app, version: ^1.0", "1.2.0"},
		{"version", "repository: " + open.URL + ", name: app, version: 1.0.0", "1.0.0"},
		{"credentials", "repository: " + closed.URL + ", name: app, version: 1.0.0, credentialsSecret: credentials", "1.0.0"},
		{"url", "url: " + open.URL + "/app-1.2.0.tgz", "1.2.0"},
		{"oci", "oci: oci://" + plain.Host() + "/charts/app, version: 1.0.0, plainHTTP: true", "1.0.0"},
		{"oci-range", "oci: oci://" + plain.Host() + "/charts/app, version: 1.x, plainHTTP: true", "1.2.0"},
		{"oci-credentials", "oci: oci://" + registry.Host() + "/charts/app, version: 1.2.0, credentialsSecret: registry", "1.2.0"},
		{"secret", "secret: {name: chart, key: app.tgz}", "1.0.0"},
		{"config-map", "configMap: {name: chart, key: app.tgz}", "1.2.0"},
	} {
		e.request(t, c.name, "  chart: {"+c.source+"}")
		o := e.awaitReady(t, c.name, "Deployed")
		harness.ExpectContains(t, messageOf(o), "app-"+c.want)
	}
}

// TestInvalidCharts checks what the controller says about charts that cannot be deployed.
//   - "The package must contain the dependencies of the chart"
//   - "Library charts cannot be installed"
//   - "Downloads have these limits: 10 MiB (--max-chart-bytes), which includes the index of a repository"
//   - "If it is not ready, or was deployed by hand, there is a warning"
func TestInvalidCharts(t *testing.T) {
	t.Parallel()
	e, _ := start(t, "--max-chart-bytes", "100000")
	folder := t.TempDir()
	publish(t, folder, chartFiles("1.0.0", ""))
	s := chartserver.Start(t, folder, chartserver.Options{})
	s.Answer("/broken/index.yaml", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	s.Answer("/large/index.yaml", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "apiVersion: v1\nentries: {}\n"+strings.Repeat("# more\n", 20000))
	})
	s.Answer("/page.tgz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>not a chart</html>") })
	s.Answer("/endless.tgz", func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := fmt.Fprint(w, strings.Repeat("x", 1000)); err != nil {
				return
			}
		}
	})
	library := e.storeChart(t, "library", map[string]string{"Chart.yaml": "apiVersion: v2\nname: lib\nversion: 1.0.0\ntype: library\n"})
	incomplete := chartFiles("1.0.0", "")
	incomplete["Chart.yaml"] += "dependencies: [{name: db, version: 1.0.0, repository: https://charts.example.com}]\n"
	broken := e.storeChart(t, "broken", chartFiles("1.0.0", "---\n{{ .Values.missing.key }}\n"))
	unordered := e.storeChart(t, "unordered", chartFiles("1.0.0", "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {helm.sh/layer: a, depends-on.helm.sh/layers: a}}\n"))
	schema := chartFiles("1.0.0", "")
	schema["values.schema.json"] = `{"properties": {"v": {"type": "string", "maxLength": 3}}}`
	for _, c := range []struct {
		name, spec, reason string
		stalled            bool
		want               []string
	}{
		{"no-repository", "  chart: {repository: 'http://127.0.0.1:1', name: app}", "ChartUnavailable", false, []string{"connection refused"}},
		{"repository-fails", "  chart: {repository: " + s.URL + "/broken, name: app}", "ChartUnavailable", false, []string{"500"}},
		{"no-chart", "  chart: {repository: " + s.URL + ", name: other}", "ChartNotFound", false, []string{`chart "other" not found`}},
		{"no-version", "  chart: {repository: " + s.URL + ", name: app, version: ^3.0}", "ChartNotFound", false, []string{"^3.0"}},
		{"no-url", "  chart: {url: " + s.URL + "/missing.tgz}", "ChartNotFound", false, []string{"404"}},
		{"large-index", "  chart: {repository: " + s.URL + "/large, name: app}", "ChartUnavailable", false, []string{"larger than 100000 bytes"}},
		{"no-archive", "  chart: {url: " + s.URL + "/page.tgz}", "InvalidChart", false, nil},
		{"endless", "  chart: {url: " + s.URL + "/endless.tgz}", "ChartUnavailable", false, []string{"larger than 100000 bytes"}},
		{"digest", "  chart: {url: " + s.URL + "/app-1.0.0.tgz, digest: 'sha256:" + strings.Repeat("0", 64) + "'}", "ChartDigestMismatch", false, []string{"spec.chart.digest is sha256:00"}},
		{"no-configmap", "  chart: {configMap: {name: missing, key: chart.tgz}}", "ChartNotFound", false, []string{"ConfigMap missing not found"}},
		{"no-key", "  chart: {configMap: {name: library, key: missing}}", "ChartNotFound", false, []string{"has no key missing"}},
		{"no-credentials", "  chart: {url: " + s.URL + "/app-1.0.0.tgz, credentialsSecret: missing}", "InvalidCredentials", false, []string{"Secret missing not found"}},
		{"library", library, "InvalidChart", false, []string{"type library"}},
		{"incomplete", e.storeChart(t, "incomplete", incomplete), "InvalidChart", false, []string{"db", "helm dependency update"}},
		{"template", broken, "RenderFailed", true, []string{"nil pointer evaluating interface {}.key"}},
		{"order", unordered, "InvalidOrder", true, []string{"remove the dependency on itself"}},
		{"schema", e.storeChart(t, "schema", schema) + "  values: {v: long}", "RenderFailed", true, []string{"maxLength"}},
	} {
		e.request(t, c.name, c.spec)
		e.awaitNotReady(t, c.name, c.reason, c.stalled, c.want...)
		harness.ExpectContains(t, e.history(t, c.name), "not found")
	}
	e.awaitEvent(t, "template", "Warning", "RenderFailed", "nil pointer")
	// What cannot be deployed is deleted without a release.
	e.delete(t, "template")
	e.delete(t, "no-chart")
}

// TestChangedDigest changes the contents of a chart under the same version.
//   - "and the message names both digests"
//   - "To deploy it nevertheless, set digest to the new one"
func TestChangedDigest(t *testing.T) {
	t.Parallel()
	e, _ := start(t)
	folder := t.TempDir()
	publish(t, folder, chartFiles("1.0.0", ""))
	s := chartserver.Start(t, folder, chartserver.Options{})
	e.request(t, "shop", "  chart: {repository: "+s.URL+", name: app}")
	e.awaitReady(t, "shop", "Deployed")
	publish(t, folder, chartFiles("1.0.0", "# changed\n"))
	e.change(t, "shop", `{"values":{"v":"two"}}`)
	e.awaitNotReady(t, "shop", "ChartDigestChanged", true, "set spec.chart.digest to the new digest")
	e.expectHistory(t, "shop", "deployed")
	// It is refused again and again.
	e.change(t, "shop", `{"values":{"v":"three"}}`)
	e.awaitNotReady(t, "shop", "ChartDigestChanged", true)
	s.Answer("/index.yaml", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	e.change(t, "shop", `{"values":{"v":"four"}}`)
	e.awaitNotReady(t, "shop", "ChartUnavailable", false)
	s.Answer("/index.yaml", nil)
	e.awaitNotReady(t, "shop", "ChartDigestChanged", true)
	message := messageOf(e.await(t, "shop", harness.HasCondition("Stalled", "True", "")))
	digest := message[strings.Index(message, "and is ")+len("and is "):]
	digest, _, _ = strings.Cut(digest, ";")
	e.change(t, "shop", `{"chart":{"digest":"`+digest+`"}}`)
	e.awaitReady(t, "shop", "Deployed")
	e.expectHistory(t, "shop", "superseded deployed")
}

// TestChangeDuringDownload changes a request while its chart is downloaded.
func TestChangeDuringDownload(t *testing.T) {
	t.Parallel()
	e, _ := start(t)
	folder := t.TempDir()
	publish(t, folder, chartFiles("1.0.0", ""))
	s := chartserver.Start(t, folder, chartserver.Options{})
	requested, changed := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s.Answer("/app-1.0.0.tgz", func(w http.ResponseWriter, r *http.Request) {
		once.Do(func() { close(requested); <-changed })
		http.ServeFile(w, r, filepath.Join(folder, "app-1.0.0.tgz"))
	})
	e.request(t, "shop", "  chart: {repository: "+s.URL+", name: app}\n  values: {v: one}")
	harness.AwaitClosed(t, requested, "the download")
	e.change(t, "shop", `{"values":{"v":"two"}}`)
	close(changed)
	harness.Eventually(t, "the change is deployed", func() bool { return e.value(t, "shop") == "two" })
	e.awaitReady(t, "shop", "Deployed")
}

// TestNewVersion publishes a new version of a chart, which is deployed after the interval.
//   - "looks for a new version of the chart, if version is a range or is not set"
func TestNewVersion(t *testing.T) {
	t.Parallel()
	e, _ := start(t)
	folder := t.TempDir()
	publish(t, folder, chartFiles("1.0.0", ""))
	s := chartserver.Start(t, folder, chartserver.Options{})
	e.request(t, "shop", "  chart: {repository: "+s.URL+", name: app, version: ^1}\n  interval: 10s")
	e.awaitReady(t, "shop", "Deployed")
	publish(t, folder, chartFiles("1.0.0", ""), chartFiles("1.1.0", ""), chartFiles("2.0.0", ""))
	harness.Eventually(t, "the new version is deployed", func() bool { return e.history(t, "shop") == "superseded deployed" })
	harness.ExpectContains(t, messageOf(e.awaitReady(t, "shop", "Deployed")), "app-1.1.0")
}

// TestValues combines values from all sources, and checks what the controller says if they cannot be read.
//   - "The values of valuesFrom are merged in their order, later ones over earlier ones, and values over them"
//   - "A null removes a default of the chart, as in Helm"
func TestValues(t *testing.T) {
	t.Parallel()
	e, _ := start(t)
	chart := e.storeChart(t, "chart", chartFiles("1.0.0", ""))
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "config"}, Data: map[string]string{"values.yaml": "v: config", "other": "v: other", "list": "[1]", "no": "a: [", "null": "v: null"}}
	_, err := e.Cluster.Client().CoreV1().ConfigMaps(e.Namespace).Create(t.Context(), configMap, metav1.CreateOptions{})
	harness.NoError(t, err)
	e.createSecret(t, e.Namespace, "secret", map[string]string{"values.yaml": "v: secret", "no": "password-of-the-shop: ["})
	for _, c := range []struct{ name, spec, want string }{
		{"config", "  valuesFrom: [{kind: ConfigMap, name: config}]", "config"},
		{"key", "  valuesFrom: [{kind: ConfigMap, name: config, key: other}]", "other"},
		{"later", "  valuesFrom: [{kind: ConfigMap, name: config}, {kind: Secret, name: secret}]", "secret"},
		{"inline", "  valuesFrom: [{kind: Secret, name: secret}]\n  values: {v: inline}", "inline"},
		{"removed", "  valuesFrom: [{kind: ConfigMap, name: config, key: 'null'}]", ""},
		{"optional", "  valuesFrom: [{kind: Secret, name: missing, optional: true}, {kind: Secret, name: secret, key: missing, optional: true}]", "default"},
	} {
		e.request(t, c.name, chart+c.spec)
		e.awaitReady(t, c.name, "Deployed")
		if got := e.value(t, c.name); got != c.want {
			t.Errorf("%s: got the value %q, want %q", c.name, got, c.want)
		}
	}
	for _, c := range []struct{ name, spec, reason, want string }{
		{"missing-object", "  valuesFrom: [{kind: Secret, name: missing}]", "ValuesNotFound", "Secret missing not found"},
		{"missing-key", "  valuesFrom: [{kind: Secret, name: secret, key: missing}]", "ValuesNotFound", "Secret secret has no key missing"},
		{"list", "  valuesFrom: [{kind: ConfigMap, name: config, key: list}]", "InvalidValues", "contains no YAML object"},
		{"no-yaml", "  valuesFrom: [{kind: Secret, name: secret, key: 'no'}]", "InvalidValues", "contains no YAML object"},
	} {
		e.request(t, c.name, chart+c.spec)
		e.awaitNotReady(t, c.name, c.reason, false, c.want)
		o := e.await(t, c.name, harness.HasCondition("Ready", "False", ""))
		if strings.Contains(fmt.Sprint(o.Object["status"]), "password-of-the-shop") {
			t.Errorf("%s: the status contains values of a Secret: %v", c.name, o.Object["status"])
		}
	}
	// A back-off ends when the request changes.
	e.change(t, "missing-key", `{"valuesFrom":[{"kind":"Secret","name":"secret"}]}`)
	e.awaitReady(t, "missing-key", "Deployed")
}

// numbered returns a list of n items, separated by commas. format is the format of an item with its number.
func numbered(format string, n int) string {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(items, ", ")
}

// TestInvalidRequests checks what the API server says about requests that the definition forbids.
//   - "The name of a HelmRequest can have 63 characters"
//   - "Exactly one of these is set in chart"
//   - "If releaseName is not set, it can have 53, and must be a valid release name"
//   - "There are no git repositories, and no directories of charts"
func TestInvalidRequests(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	for _, c := range []struct{ name, spec, want string }{
		{"no-source", "  chart: {}", "set exactly one of repository, oci, url, secret and configMap"},
		{"two-sources", "  chart: {url: 'https://example.com/a.tgz', oci: 'oci://example.com/a'}", "set exactly one of"},
		{"no-name", "  chart: {repository: 'https://example.com'}", "set name with repository"},
		{"version-of-url", "  chart: {url: 'https://example.com/a.tgz', version: 1.0.0}", "version can be set only with repository and oci"},
		{"file", "  chart: {url: 'file:///etc/passwd'}", "spec.chart.url"},
		{"path", "  chart: {repository: '/etc', name: passwd}", "spec.chart.repository"},
		{"path-as-name", "  chart: {repository: 'https://example.com', name: ../passwd}", "spec.chart.name"},
		{"values-list", "  chart: {url: 'https://example.com/a.tgz'}\n  values: [1]", "spec.values"},
		{"wait", "  chart: {url: 'https://example.com/a.tgz'}\n  waitStrategy: sometimes", "spec.waitStrategy"},
		{"timeout", "  chart: {url: 'https://example.com/a.tgz'}\n  timeout: 0s", "must be positive"},
		{"interval", "  chart: {url: 'https://example.com/a.tgz'}\n  interval: 1s", "must be 0 or at least 10s"},
		{"revision", "  chart: {url: 'https://example.com/a.tgz'}\n  rollbackTo: 0", "spec.rollbackTo"},
		{"release-name", "  chart: {url: 'https://example.com/a.tgz'}\n  releaseName: A_b", "spec.releaseName"},
		{strings.Repeat("n", 54), "  chart: {url: 'https://example.com/a.tgz'}", "set spec.releaseName"},
		{strings.Repeat("n", 64), "  chart: {url: 'https://example.com/a.tgz'}\n  releaseName: a", "63 characters at most"},
		{"kind", "  chart: {url: 'https://example.com/a.tgz'}\n  valuesFrom: [{kind: File, name: a}]", "spec.valuesFrom[0].kind"},
		{"git", "  chart: {url: 'git+https://example.com/charts'}", "spec.chart.url"},
		{"sha1", "  chart: {url: 'https://example.com/a.tgz', digest: 'sha1:" + strings.Repeat("0", 40) + "'}", "spec.chart.digest"},
		{"dependencies", "  chart: {url: 'https://example.com/a.tgz'}\n  dependsOn: [" + numbered("d%d", 65) + "]", "must have at most 64 items"},
		{"many-values", "  chart: {url: 'https://example.com/a.tgz'}\n  valuesFrom: [" + numbered("{kind: Secret, name: s%d}", 33) + "]", "must have at most 32 items"},
		{"permissions", "  chart: {url: 'https://example.com/a.tgz'}\n  acceptPermissions: [" + numbered("p%d", 17) + "]", "must have at most 16 items"},
	} {
		err := e.Create(t.Context(), requestOf(c.name, c.spec))
		if err == nil {
			t.Errorf("%s: accepted", c.name)
			continue
		}
		harness.ExpectContains(t, err.Error(), c.want)
	}
}
