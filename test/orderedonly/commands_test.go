// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package orderedonly runs the commands for charts with charts that only Ordered Helm can
// load: they have apiVersion v3, lists as values of annotations, and fields in Chart.yaml
// that stock Helm rejects. The tests check that the archives and indexes that the commands
// write keep the meaning of these charts, and that stock Helm can load them.
package orderedonly

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	helmloader "helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/repo"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/declaration"
	"github.com/ordered-helm/helm/internal/hookorder"
	"github.com/ordered-helm/helm/pkg/chart/loader"
	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/chartserver"
	"github.com/ordered-helm/helm/test/ociregistry"
	"github.com/ordered-helm/helm/test/signing"
)

// workspace is a temporary directory in which a test runs the programs, with its own home
// directory and without a cluster.
type workspace struct {
	t        *testing.T
	dir      string
	programs binaries.Set
}

func newWorkspace(t *testing.T) *workspace {
	t.Helper()
	return &workspace{t: t, dir: t.TempDir(), programs: binaries.Get(t)}
}

// run runs a program. Its arguments are the words of line, followed by more.
func (w *workspace) run(program, line string, more ...string) (stdout, stderr string, err error) {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), program, append(strings.Fields(line), more...)...)
	cmd.Dir = w.dir
	cmd.Env = []string{"HOME=" + filepath.Join(w.dir, "home"), "PATH=" + os.Getenv("PATH"), "KUBECONFIG=" + filepath.Join(w.dir, "none")}
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		w.t.Fatal(err)
	}
	return out.String(), errOut.String(), err
}

// mustRun runs Ordered Helm, which must succeed, and returns its output.
func (w *workspace) mustRun(line string, more ...string) string {
	w.t.Helper()
	stdout, stderr, err := w.run(w.programs.Helm, line, more...)
	if err != nil {
		w.t.Fatalf("helm %s: %v\n%s%s", line, err, stdout, stderr)
	}
	return stdout
}

// expectError runs Ordered Helm, which must fail with a message that contains want.
func (w *workspace) expectError(want, line string) {
	w.t.Helper()
	if stdout, stderr, err := w.run(w.programs.Helm, line); err == nil || !strings.Contains(stderr, want) {
		w.t.Errorf("helm %s: %v\n%s%s\nwant %q", line, err, stdout, stderr, want)
	}
}

// mustRunStock runs stock Helm, which must succeed.
func (w *workspace) mustRunStock(line string) {
	w.t.Helper()
	if stdout, stderr, err := w.run(w.programs.Stock, line); err != nil {
		w.t.Errorf("stock: helm %s: %v\n%s%s", line, err, stdout, stderr)
	}
}

func (w *workspace) write(files map[string]string) {
	w.t.Helper()
	for name, text := range files {
		path := filepath.Join(w.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			w.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *workspace) read(name string) string {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

// expectContains fails the test unless the text contains all the parts.
func expectContains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in:\n%s", part, text)
		}
	}
}

// configMap returns a template with one ConfigMap.
func configMap(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n"
}

// orderedChart returns the files of a chart that only Ordered Helm can load, by path.
func orderedChart(name string) map[string]string {
	return map[string]string{
		name + "/Chart.yaml": "apiVersion: v3 # of " + name + "\nname: " + name + "\nversion: 1.0.0\nrunHooksInParallel: true\nhookScope: chart\nteam: {of: " + name + "}\n" +
			"annotations:\n  helm.sh/depends-on/subcharts: [] # as a list\n",
		name + "/templates/all.yaml": configMap(name),
	}
}

// TestEveryCommand updates the dependencies of a chart (from a directory, a repository and a
// registry), packages it, pushes it to a registry, pulls it, and reads the result.
func TestEveryCommand(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	for _, name := range []string{"queue", "cache", "db"} {
		w.write(orderedChart(name))
	}
	served := t.TempDir()
	if err := chartserver.Publish(loader.LoadDir, served, filepath.Join(w.dir, "cache")); err != nil {
		t.Fatal(err)
	}
	// The chart was not packaged by helm, so the archive still contains lists.
	if _, err := helmloader.LoadFile(filepath.Join(served, "cache-1.0.0.tgz")); err == nil {
		t.Fatal("stock Helm can load the archive, so this test checks nothing")
	}
	server := chartserver.Start(t, served, chartserver.Options{})
	registry := ociregistry.Start(t, ociregistry.Options{})
	charts := "oci://" + registry.Host() + "/charts"

	// create, package, push
	w.mustRun("package db -d packed")
	w.mustRun("push packed/db-1.0.0.tgz " + charts + " --plain-http")
	w.write(map[string]string{
		"shop/Chart.yaml": "apiVersion: v3\nname: shop\nversion: 1.2.0\nappVersion: '1'\nrunHooksInParallel: otherChartsOnly\nhookScope: release\nteam: shop\n" +
			"annotations:\n  helm.sh/depends-on/subcharts: [queue, db]\n" +
			"dependencies:\n" +
			"- {name: queue, version: 1.x, repository: file://../queue, depends-on: [cache]}\n" +
			"- {name: cache, version: '*', repository: '" + server.URL + "'}\n" +
			"- {name: db, version: ^1.0.0, repository: '" + charts + "', depends-on: [cache], hookScope: chart}\n",
		"shop/values.yaml":        "a: 1\n",
		"shop/templates/all.yaml": configMap("shop"),
	})

	// dependency
	w.mustRun("dependency update shop --plain-http")
	lock := w.read("shop/Chart.lock")
	expectContains(t, lock, "name: queue", "name: cache", "name: db", "version: 1.0.0")
	expectContains(t, w.mustRun("dependency list shop"), "queue\t1.x    \tfile://../queue", "ok")
	if strings.Contains(w.mustRun("dependency list shop"), "missing") {
		t.Error("dependency list reports missing dependencies")
	}
	if err := os.RemoveAll(filepath.Join(w.dir, "shop", "charts")); err != nil {
		t.Fatal(err)
	}
	w.expectError("no repository definition for "+server.URL, "dependency build shop --plain-http")
	w.mustRun("repo add served " + server.URL)
	w.mustRun("dependency build shop --plain-http")
	if w.read("shop/Chart.lock") != lock {
		t.Error("dependency build changed the lock file")
	}
	w.mustRun("lint shop --strict --with-subcharts")

	// package, show, template, dag
	w.mustRun("package shop -d packed --dependency-update --plain-http")
	const packed = "packed/shop-1.2.0.tgz"
	expectShop(t, filepath.Join(w.dir, packed))
	for _, subject := range []string{"shop", packed} {
		expectContains(t, w.mustRun("show chart "+subject), "apiVersion: v3", "runHooksInParallel: otherChartsOnly", "hookScope: release", "depends-on:\n  - cache\n  hookScope: chart\n",
			`helm.sh/depends-on/subcharts: '["queue","db"]'`)
		expectContains(t, w.mustRun("show all "+subject), "runHooksInParallel: otherChartsOnly", "---\na: 1")
	}
	if a, b := w.mustRun("dag shop"), w.mustRun("dag "+packed); a != b || !strings.Contains(a, "cache") {
		t.Errorf("the graph of the directory:\n%s\nthe graph of the archive:\n%s", a, b)
	}
	for _, line := range []string{"show all ", "lint ", "template web ", "dependency list "} {
		w.mustRun(line + packed)
	}
	for _, line := range []string{"show all ", "template web ", "dependency list "} {
		w.mustRunStock(line + packed)
	}

	// push, pull
	w.mustRun("push " + packed + " " + charts + " --plain-http")
	w.mustRun("pull " + charts + "/shop --version 1.2.0 --plain-http --untar --untardir unpacked")
	w.mustRun("pull " + charts + "/shop --version 1.2.0 --plain-http")
	if w.read("shop-1.2.0.tgz") != w.read(packed) {
		t.Error("the pulled archive differs from the pushed one")
	}
	w.mustRunStock("template web " + charts + "/shop --version 1.2.0 --plain-http")
	w.mustRun("pull " + server.URL + "/cache-1.0.0.tgz --untar -d unpacked")
	if w.read("unpacked/cache/Chart.yaml") != w.read("cache/Chart.yaml") {
		t.Error("the unpacked Chart.yaml differs from the packaged one")
	}
	for _, line := range []string{"show chart served/cache", "template web served/cache", "lint unpacked/cache", "search repo served/cache"} {
		expectContains(t, w.mustRun(line), "cache")
	}
}

// expectShop checks that the loader of stock Helm can load the archive of chart shop, and
// that the archive contains everything that the chart declares.
func expectShop(t *testing.T, archive string) {
	t.Helper()
	ch, err := helmloader.LoadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	d, err := declaration.Read(ch)
	if err != nil {
		t.Fatal(err)
	}
	if d.Hooks != hookorder.OtherChartsOnly || d.HookScope != "release" || strings.Join(d.DependsOnSubcharts, " ") != "db queue" || len(d.Dependencies) != 3 {
		t.Errorf("got declarations %+v", d)
	}
	for _, dep := range d.Dependencies {
		if want := map[string]string{"queue": "cache", "db": "cache"}[dep.Name]; strings.Join(dep.DependsOn, " ") != want {
			t.Errorf("%s depends on %q, want %q", dep.Name, dep.DependsOn, want)
		}
		if want := map[string]string{"db": "chart"}[dep.Name]; dep.HookScope != want {
			t.Errorf("%s has the hook scope %q, want %q", dep.Name, dep.HookScope, want)
		}
	}
	for _, sub := range d.Subcharts {
		if sub.APIVersion != "v3" || sub.Hooks != hookorder.Parallel || sub.HookScope != "chart" {
			t.Errorf("got declarations of a subchart %+v", sub)
		}
	}
	var raw struct{ Team string }
	for _, f := range ch.Raw {
		if f.Name == "Chart.yaml" {
			if err := yaml.Unmarshal(f.Data, &raw); err != nil {
				t.Fatal(err)
			}
		}
	}
	if raw.Team != "shop" || ch.Lock == nil || len(ch.Lock.Dependencies) != 3 {
		t.Errorf("team %q, lock file %+v", raw.Team, ch.Lock)
	}
}

// TestPushOfArchiveFromOtherTool checks that push converts a chart with lists that another
// tool has packaged, so that stock Helm can load it, but rejects a signed one.
func TestPushOfArchiveFromOtherTool(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(orderedChart("cache"))
	data, err := chartserver.Pack(filepath.Join(w.dir, "cache"))
	if err != nil {
		t.Fatal(err)
	}
	w.write(map[string]string{"cache-1.0.0.tgz": string(data)})
	registry := ociregistry.Start(t, ociregistry.Options{})
	charts := "oci://" + registry.Host() + "/charts"
	w.mustRun("push cache-1.0.0.tgz " + charts + " --plain-http")
	w.write(map[string]string{"pulled/here": ""})
	w.mustRun("pull " + charts + "/cache --version 1.0.0 --plain-http -d pulled")
	ch, err := helmloader.LoadFile(filepath.Join(w.dir, "pulled", "cache-1.0.0.tgz"))
	if err != nil {
		t.Fatalf("stock Helm cannot load the pushed archive: %v", err)
	}
	if d, err := declaration.Read(ch); err != nil || d.Hooks != hookorder.Parallel || d.APIVersion != "v3" {
		t.Errorf("got declarations %+v, %v", d, err)
	}
	if w.read("cache-1.0.0.tgz") != string(data) {
		t.Error("push changed the local archive")
	}
	w.write(map[string]string{"cache-1.0.0.tgz.prov": "signed"})
	w.expectError("because it is signed", "push cache-1.0.0.tgz "+charts+" --plain-http")
}

// TestIndex checks that repo index lists a chart that stock Helm would leave out, in an
// index that stock Helm can read.
func TestIndex(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(orderedChart("cache"))
	data, err := chartserver.Pack(filepath.Join(w.dir, "cache"))
	if err != nil {
		t.Fatal(err)
	}
	w.write(map[string]string{"repo/cache-1.0.0.tgz": string(data), "repo/broken.tgz": "no archive"})
	w.mustRun("repo index repo --url https://charts.example.com")
	index, err := repo.LoadIndexFile(filepath.Join(w.dir, "repo", "index.yaml"))
	if err != nil {
		t.Fatalf("stock Helm cannot read the index: %v", err)
	}
	entry, err := index.Get("cache", "1.0.0")
	if err != nil || entry.APIVersion != "v3" || entry.URLs[0] != "https://charts.example.com/cache-1.0.0.tgz" {
		t.Errorf("got %+v, %v", entry, err)
	}
}

// TestSignedPackage checks that both programs can verify the signature of a packaged chart.
func TestSignedPackage(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(orderedChart("cache"))
	key := signing.NewKey(t, "Ada", "")
	w.mustRun("package cache --sign --key Ada --keyring " + key.SecretRing)
	expectContains(t, w.mustRun("verify cache-1.0.0.tgz --keyring "+key.PublicRing), "Signed by: Ada")
	w.mustRunStock("verify cache-1.0.0.tgz --keyring " + key.PublicRing)
	w.mustRun("template web cache-1.0.0.tgz --verify --keyring " + key.PublicRing)
}

// TestCreateWithStarter checks that create accepts a starter chart that declares an order,
// and keeps its fields.
func TestCreateWithStarter(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(orderedChart("cache"))
	w.mustRun("create mine --starter " + filepath.Join(w.dir, "cache"))
	expectContains(t, w.mustRun("show chart mine"), "apiVersion: v3", "name: mine", "runHooksInParallel: true", "hookScope: chart")
	w.mustRun("lint mine")
}

// TestNoTemporaryFilesAreLeft checks that commands delete their temporary directories.
func TestNoTemporaryFilesAreLeft(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(orderedChart("cache"))
	w.write(map[string]string{"need/Chart.yaml": "apiVersion: v3\nname: need\nversion: 1.0.0\ndependencies:\n- {name: cache, version: 1.0.0, repository: file://../cache}\n"})
	temporary := filepath.Join(w.dir, "temporary")
	if err := os.Mkdir(temporary, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"dependency update need", "lint need", "package need", "lint need-1.0.0.tgz"} {
		cmd := exec.CommandContext(t.Context(), w.programs.Helm, strings.Fields(line)...)
		cmd.Dir, cmd.Env = w.dir, []string{"HOME=" + w.dir, "TMPDIR=" + temporary}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("helm %s: %v\n%s", line, err, out)
		}
	}
	err := filepath.WalkDir(w.dir, func(path string, _ fs.DirEntry, err error) error {
		if strings.Contains(filepath.Base(path), "tmp") || filepath.Dir(path) == temporary {
			t.Errorf("%s is left", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
