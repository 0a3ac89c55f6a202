// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package orderedonly

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/testutil/formatcharts"
	"github.com/ordered-helm/helm/pkg/chart/loader"
	"github.com/ordered-helm/helm/test/chartserver"
	"github.com/ordered-helm/helm/test/harness"
	"github.com/ordered-helm/helm/test/ociregistry"
	"github.com/ordered-helm/helm/test/signing"
)

// formatChart returns the files of a chart of the format helm.sh/v3, by path, with additional lines
// of its Chart.yaml.
func formatChart(name, more string) map[string]string {
	return map[string]string{
		name + "/Chart.yaml":         "# " + name + "\napiVersion: helm.sh/v3\nkind: Chart\nmetadata:\n  name: " + name + "\n  labels: {version: 1.10.0, appVersion: 3.6, team: web}\n" + more,
		name + "/values.yaml":        "a: 1\n",
		name + "/values.schema.yaml": "# of " + name + "\ntype: object\n",
		name + "/templates/all.yaml": configMap(name) + "data: {version: '{{ .Chart.Version }}', app: '{{ .Chart.AppVersion }}', team: {{ .Chart.Annotations.team }}, a: '{{ .Values.a }}'}\n",
	}
}

// mustOutput runs a program, which must succeed, and returns its output.
func (w *workspace) mustOutput(program, line string) string {
	w.t.Helper()
	stdout, stderr, err := w.run(program, line)
	if err != nil {
		w.t.Errorf("%s %s: %v\n%s%s", filepath.Base(program), line, err, stdout, stderr)
	}
	return stdout
}

// files returns the files of the chart in a directory.
func (w *workspace) files(dir string) formatcharts.Files {
	w.t.Helper()
	found, err := formatcharts.Read(filepath.Join(w.dir, dir))
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

// expectSameFiles checks that two charts have the same files with the same content.
func expectSameFiles(t *testing.T, got, want formatcharts.Files) {
	t.Helper()
	for name, text := range want {
		if have, exists := got[name]; !exists || have != text {
			t.Errorf("%s has %d bytes instead of %d:\n%.500q\nwant\n%.500q", name, len(have), len(text), have, text)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got the files %q, want %q", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}

// chartServers are a repository and a registry with one chart of the format each: cache, and db.
type chartServers struct {
	repository *chartserver.Server
	charts     string // the address of the charts in the registry
}

// serveFormat packages and publishes the charts of chartServers, and writes the chart queue.
func serveFormat(w *workspace) chartServers {
	w.t.Helper()
	for _, name := range []string{"queue", "cache", "db"} {
		w.write(formatChart(name, ""))
	}
	w.mustRun("package cache -d served")
	w.mustRunStock("repo index served")
	registry := ociregistry.Start(w.t, ociregistry.Options{})
	s := chartServers{chartserver.Start(w.t, filepath.Join(w.dir, "served"), chartserver.Options{}), "oci://" + registry.Host() + "/charts"}
	w.mustRun("package db")
	w.mustRun("push db-1.10.0.tgz " + s.charts + " --plain-http")
	w.mustRun("repo add served " + s.repository.URL)
	return s
}

// TestFormatInEveryCommand runs the commands that need no cluster with a chart of the format, whose
// dependencies, also of the format, are declared in each possible place, and are in a directory, a
// repository and a registry. One more subchart is flat.
func TestFormatInEveryCommand(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"data", "requirements", "dependencies"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			servers := serveFormat(w)
			list := "- {name: queue, version: 1.x, repository: file://../queue, depends-on: [cache]}   # in a directory\n" +
				"- {name: cache, version: '*', repository: '" + servers.repository.URL + "'}\n" +
				"- {name: db, version: ^1.0.0, repository: '" + servers.charts + "', depends-on: cache}\n- {name: web, version: 1.0.0, repository: ''}\n"
			shop := formatChart("shop", "  annotations: {depends-on.helm.sh/subcharts: [queue, db]}\ndata:\n  icon: https://example.com/icon.svg\n")
			if place == "data" {
				shop["shop/Chart.yaml"] += "  dependencies:\n  " + strings.ReplaceAll(list, "\n- ", "\n  - ")
			} else {
				shop["shop/requirements.yaml"] = "# by hand\n" + place + ":\n" + list
			}
			shop["shop/charts/web/Chart.yaml"] = "apiVersion: v2\nname: web\nversion: 1.0.0\n"
			w.write(shop)
			checkFormatDependencies(w, shop)
			checkFormatPackage(w, servers)
		})
	}
}

// checkFormatDependencies runs helm dependency for the chart shop.
func checkFormatDependencies(w *workspace, shop map[string]string) {
	w.t.Helper()
	expectContains(w.t, w.mustRun("dependency list shop"), "queue\t1.x    \tfile://../queue", "missing")
	w.mustRun("dependency update shop --plain-http")
	lock := w.read("shop/Chart.lock")
	expectContains(w.t, lock, "name: queue", "name: cache", "name: db", "name: web", "version: 1.10.0")
	for _, name := range []string{"queue", "cache", "db"} {
		if err := os.Remove(filepath.Join(w.dir, "shop", "charts", name+"-1.10.0.tgz")); err != nil {
			w.t.Fatal(err)
		}
	}
	w.mustRun("dependency build shop --plain-http")
	if list := w.mustRun("dependency list shop"); strings.Contains(list, "missing") || strings.Contains(list, "WARNING") || strings.Count(list, "ok") != 3 {
		w.t.Errorf("dependency list:\n%s", list)
	}
	if w.read("shop/Chart.lock") != lock {
		w.t.Error("dependency build changed the lock file")
	}
	for name, text := range shop {
		if w.read(name) != text {
			w.t.Errorf("dependency changed %s", name)
		}
	}
	if _, err := os.Stat(filepath.Join(w.dir, "shop", "requirements.lock")); err == nil {
		w.t.Error("there is a requirements.lock")
	}
}

// checkFormatPackage packages the chart shop, and checks that the archive is used as the directory
// is, and that the chart comes back from a registry and a repository as it was.
func checkFormatPackage(w *workspace, servers chartServers) {
	w.t.Helper()
	written := w.files("shop")
	w.mustRun("package shop -d packed")
	const packed = "packed/shop-1.10.0.tgz"
	for _, line := range []string{"show chart ", "show all ", "show values ", "template web ", "template web --wait=ordered ", "dag ", "lint --strict "} {
		fromArchive := strings.ReplaceAll(w.mustRun(line+packed), packed, "shop")
		if a := w.mustRun(line + "shop"); a != fromArchive {
			w.t.Errorf("%sof the directory:\n%s\nand of the archive:\n%s", line, a, fromArchive)
		}
	}
	if shown := w.mustRun("show chart " + packed); shown != written["Chart.yaml"]+"\n" {
		w.t.Errorf("show chart prints\n%s\nwant\n%s", shown, written["Chart.yaml"])
	}
	expectContains(w.t, w.mustRun("dag shop"), "4 nodes, 3 batches")
	expectContains(w.t, w.mustRun("template web shop"), "data: {version: '1.10.0', app: '3.6', team: web, a: '1'}")

	w.mustRun("push " + packed + " " + servers.charts + " --plain-http")
	w.mustRun("pull " + servers.charts + "/shop --version 1.10.0 --plain-http -d . ")
	if w.read("shop-1.10.0.tgz") != w.read(packed) {
		w.t.Error("the pulled archive differs from the pushed one")
	}
	w.mustRun("pull " + servers.charts + "/shop --version 1.10.0 --plain-http --untar --untardir from-registry")
	expectSameFiles(w.t, w.files("from-registry/shop"), written)

	w.write(map[string]string{"served/shop-1.10.0.tgz": w.read(packed)})
	w.mustRun("repo index served")
	w.mustRun("repo update")
	expectContains(w.t, w.mustRun("search repo served/"), "served/shop \t1.10.0       \t3.6", "served/cache\t1.10.0       \t3.6")
	w.mustRun("pull served/shop --untar --untardir from-repository")
	expectSameFiles(w.t, w.files("from-repository/shop"), written)
	w.mustRun("package from-repository/shop -d again --version 2.0.0+build --app-version 1.10")
	expectContains(w.t, w.mustRun("show chart again/shop-2.0.0+build.tgz"), `labels: {version: "2.0.0+build", appVersion: "1.10", team: web}`, "# shop\n")
	ch, err := loader.Load(filepath.Join(w.dir, "again", "shop-2.0.0+build.tgz"))
	if err != nil || ch.Metadata.Version != "2.0.0+build" || ch.Metadata.AppVersion != "1.10" || len(ch.Dependencies()) != 4 {
		w.t.Errorf("the SDK loads %+v, %v", ch.Metadata, err)
	}
}

// TestFormatForOtherVersions runs stock Helm and Helm 4 with packaged charts of the format: one with
// a flat subchart, and a flat one with a subchart of the format.
func TestFormatForOtherVersions(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	servers := serveFormat(w)
	w.write(formatChart("shop", "data:\n  description: \"a shop\\nof many\"\n  icon: https://example.com/icon.svg\n  dependencies: [{name: web, version: '1', repository: ''}, {name: queue, version: '1', repository: 'file://../queue'}]\n"))
	w.write(map[string]string{
		"shop/charts/web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "shop/charts/web/templates/all.yaml": configMap("web"),
		"flat/Chart.yaml":  "apiVersion: v2\nname: flat\nversion: 1.10.0\nicon: https://example.com/icon.svg\ndependencies: [{name: queue, version: '1', repository: 'file://../queue'}]\n",
		"flat/values.yaml": "{}\n", "flat/templates/all.yaml": configMap("flat"),
	})
	key := signing.NewKey(t, "Ada", "")
	for _, name := range []string{"shop", "flat"} {
		w.mustRun("package " + name + " --dependency-update -d packed --sign --key Ada --keyring " + key.SecretRing)
		w.mustRun("push packed/" + name + "-1.10.0.tgz " + servers.charts + " --plain-http")
		w.write(map[string]string{"served/" + name + "-1.10.0.tgz": w.read("packed/" + name + "-1.10.0.tgz")})
	}
	w.mustRunStock("repo index served")
	w.mustRun("repo update")
	for version, program := range map[string]string{"stock": w.programs.Stock, "Helm 4": w.programs.Helm4, "ours": w.programs.Helm} {
		for _, name := range []string{"shop", "flat"} {
			t.Run(name+", "+version, func(t *testing.T) {
				own := &workspace{t: t, dir: w.dir, programs: w.programs}
				checkOtherVersion(own, program, name, servers, key)
			})
		}
	}
}

// checkOtherVersion runs a version of Helm with the archive of a chart of TestFormatForOtherVersions.
func checkOtherVersion(w *workspace, program, name string, servers chartServers, key *signing.Key) {
	w.t.Helper()
	archive := "packed/" + name + "-1.10.0.tgz"
	ref := servers.charts + "/" + name + " --version 1.10.0 --plain-http"
	template := strings.Fields(w.mustRun("template web " + archive))
	for _, line := range []string{"template web " + archive, "template web " + ref, "template web served/" + name} {
		if got := strings.Fields(w.mustOutput(program, line)); !slices.Equal(got, template) {
			w.t.Errorf("%s prints\n%q\nwant\n%q", line, got, template)
		}
	}
	for _, line := range []string{"lint --strict " + archive, "show all " + archive, "show chart " + ref, "dependency list " + archive, "verify " + archive + " --keyring " + key.PublicRing, "search repo served/" + name} {
		if out := w.mustOutput(program, line); strings.Contains(out, "WARNING") || strings.Contains(out, "missing") {
			w.t.Errorf("%s prints\n%s", line, out)
		}
	}
	dir := w.t.TempDir()
	w.mustOutput(program, "pull "+ref+" -d "+dir)
	w.mustOutput(program, "repo index "+dir)
	expectContains(w.t, w.mustOutput(program, "search repo served/ --versions"), "served/"+name)
	index, err := os.ReadFile(filepath.Join(dir, "index.yaml"))
	if err != nil {
		w.t.Fatal(err)
	}
	expectContains(w.t, string(index), "name: "+name, "version: 1.10.0", "apiVersion: v2")
}

// rewritable contains the charts of TestRewrittenCharts.
var rewritable = map[string]struct {
	// flags make the chart render the same text each time.
	flags string
	// onlyOurs is true if stock Helm cannot render the chart, because annotations in its templates
	// are lists.
	onlyOurs bool
}{
	"shop": {}, "umbrella": {}, "hooks": {}, "proposal-layers": {onlyOurs: true}, "proposal-subcharts": {},
	"common-*.tgz": {}, "nginx-*.tgz": {flags: "--set tls.enabled=false"}, "rabbitmq-*.tgz": {flags: "--set auth.password=a,auth.erlangCookie=b"},
	"postgresql-*.tgz": {flags: "--set auth.postgresPassword=a"}, "redis-*.tgz": {flags: "--set auth.password=a"},
	"keycloak-*.tgz":              {flags: "--set auth.adminPassword=a,postgresql.auth.password=b,postgresql.auth.postgresPassword=c"},
	"kube-prometheus-stack-*.tgz": {flags: "--set grafana.enabled=false"},
}

// TestRewrittenCharts rewrites the example charts and public charts, with their subcharts, in the
// format helm.sh/v3. They must be rendered to the same text as before, and must come back from a
// registry as they were written.
func TestRewrittenCharts(t *testing.T) {
	t.Parallel()
	registry := ociregistry.Start(t, ociregistry.Options{})
	places := []formatcharts.Place{formatcharts.InChartYAML, formatcharts.BelowRequirements, formatcharts.BelowHelm2Key}
	for i, pattern := range slices.Sorted(maps.Keys(rewritable)) {
		t.Run(pattern, func(t *testing.T) {
			t.Parallel()
			source := harness.ExampleChart(t, pattern)
			if strings.Contains(pattern, "*") {
				source = harness.PublicChart(t, pattern)
			}
			w := newWorkspace(t)
			flat, err := formatcharts.Read(source)
			harness.NoError(t, err)
			rewritten, err := formatcharts.Rewrite(flat, places[i%len(places)])
			harness.NoError(t, err)
			harness.NoError(t, flat.Write(filepath.Join(w.dir, "flat")))
			harness.NoError(t, rewritten.Write(filepath.Join(w.dir, "format")))
			w.mustRun("package format")
			archives, err := filepath.Glob(filepath.Join(w.dir, "*.tgz"))
			harness.NoError(t, err)
			archive := filepath.Base(archives[0])
			if pattern != "common-*.tgz" { // a library has nothing to render
				checkRewritten(w, archive, rewritable[pattern].flags, rewritable[pattern].onlyOurs)
			}
			expectRoundTrip(w, archive, rewritten, "oci://"+registry.Host()+"/charts")
		})
	}
}

// checkRewritten checks that the chart in the directory format, and its archive, are rendered as the
// flat chart in the directory flat.
func checkRewritten(w *workspace, archive, flags string, onlyOurs bool) {
	w.t.Helper()
	for _, line := range []string{"template rel ", "template rel --wait=ordered ", "template rel --include-crds --is-upgrade "} {
		want := w.mustRun(line + flags + " flat")
		for _, chart := range []string{"format", archive} {
			if got := w.mustRun(line + flags + " " + chart); got != want {
				w.t.Errorf("%s%s prints\n%.2000s\nwant\n%.2000s", line, chart, got, want)
			}
		}
	}
	if onlyOurs {
		return
	}
	if got, want := w.mustOutput(w.programs.Stock, "template rel "+flags+" "+archive), w.mustRun("template rel "+flags+" flat"); got != want {
		w.t.Errorf("stock Helm prints\n%.2000s\nwant\n%.2000s", got, want)
	}
}

// expectRoundTrip checks that an archive can be pushed to a registry, and that the chart that is
// pulled from there has the given files.
func expectRoundTrip(w *workspace, archive string, files formatcharts.Files, charts string) {
	w.t.Helper()
	w.mustRun("push " + archive + " " + charts + " --plain-http")
	name := strings.TrimSuffix(archive, ".tgz")
	at := strings.LastIndex(name, "-")
	w.mustRun("pull " + charts + "/" + name[:at] + " --version " + name[at+1:] + " --plain-http --untar --untardir pulled")
	expectSameFiles(w.t, w.files("pulled/"+name[:at]), files)
	if shown := w.mustRun("show chart " + archive); shown != files["Chart.yaml"]+"\n" {
		w.t.Errorf("show chart prints\n%s", shown)
	}
}

// TestFormatFromOtherTool uses a chart of the format that another tool has packed as it was written.
// push uploads what helm package would have packed, so that stock Helm can load it, but rejects a signed
// archive.
func TestFormatFromOtherTool(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(formatChart("cache", ""))
	data, err := chartserver.Pack(filepath.Join(w.dir, "cache"))
	harness.NoError(t, err)
	w.write(map[string]string{"repo/cache-1.10.0.tgz": string(data)})
	if _, _, err := w.run(w.programs.Stock, "show chart repo/cache-1.10.0.tgz"); err == nil {
		t.Fatal("stock Helm can load the archive, so this test checks nothing")
	}
	registry := ociregistry.Start(t, ociregistry.Options{})
	charts := "oci://" + registry.Host() + "/charts"
	w.mustRun("push repo/cache-1.10.0.tgz " + charts + " --plain-http")
	w.mustRunStock("template web " + charts + "/cache --version 1.10.0 --plain-http")
	w.mustRun("pull " + charts + "/cache --version 1.10.0 --plain-http --untar --untardir pulled")
	expectSameFiles(t, w.files("pulled/cache"), w.files("cache"))
	server := chartserver.Start(t, filepath.Join(w.dir, "repo"), chartserver.Options{})
	w.mustRun("pull " + server.URL + "/cache-1.10.0.tgz --untar --untardir as-packed")
	expectSameFiles(t, w.files("as-packed/cache"), w.files("cache"))
	w.mustRun("repo index repo")
	expectContains(t, w.read("repo/index.yaml"), "apiVersion: v2", "name: cache", "version: 1.10.0")
	for _, line := range []string{"template web repo/cache-1.10.0.tgz", "lint repo/cache-1.10.0.tgz", "show chart repo/cache-1.10.0.tgz"} {
		w.mustRun(line)
	}
	w.write(map[string]string{"repo/cache-1.10.0.tgz.prov": "signed"})
	w.expectError("is of the format helm.sh/v3", "push repo/cache-1.10.0.tgz "+charts+" --plain-http")
}
