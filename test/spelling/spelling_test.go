// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package spelling runs every command with charts that only this Helm can load: with
// apiVersion v3, annotations that are lists, and fields that Helm does not know. The result
// must have the same meaning, and stock Helm must be able to load it.
package spelling

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

	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/hookrunner"
	"github.com/ordered-helm/helm/pkg/chart/loader"
	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/chartserver"
	"github.com/ordered-helm/helm/test/ociregistry"
	"github.com/ordered-helm/helm/test/signing"
)

// place is a directory with a home in which commands run.
type place struct {
	t        *testing.T
	dir      string
	programs binaries.Set
}

func newPlace(t *testing.T) *place {
	t.Helper()
	return &place{t: t, dir: t.TempDir(), programs: binaries.Get(t)}
}

// run runs a program with the words of a line.
func (p *place) run(program, line string, more ...string) (stdout, stderr string, err error) {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), program, append(strings.Fields(line), more...)...)
	cmd.Dir = p.dir
	cmd.Env = []string{"HOME=" + filepath.Join(p.dir, "home"), "PATH=" + os.Getenv("PATH"), "KUBECONFIG=" + filepath.Join(p.dir, "none")}
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return out.String(), errOut.String(), err
}

// ok runs our binary, which must succeed, and returns its output.
func (p *place) ok(line string, more ...string) string {
	p.t.Helper()
	stdout, stderr, err := p.run(p.programs.Helm, line, more...)
	if err != nil {
		p.t.Fatalf("helm %s: %v\n%s%s", line, err, stdout, stderr)
	}
	return stdout
}

// fails runs our binary, which must fail with a message that contains words.
func (p *place) fails(words, line string) {
	p.t.Helper()
	if stdout, stderr, err := p.run(p.programs.Helm, line); err == nil || !strings.Contains(stderr, words) {
		p.t.Errorf("helm %s: %v\n%s%s\nwant %q", line, err, stdout, stderr, words)
	}
}

// stockOK runs stock Helm, which must succeed.
func (p *place) stockOK(line string) {
	p.t.Helper()
	if stdout, stderr, err := p.run(p.programs.Stock, line); err != nil {
		p.t.Errorf("stock: helm %s: %v\n%s%s", line, err, stdout, stderr)
	}
}

func (p *place) write(files map[string]string) {
	p.t.Helper()
	for name, text := range files {
		path := filepath.Join(p.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			p.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *place) read(name string) string {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}

// contains fails the test unless the text contains all the parts.
func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in:\n%s", part, text)
		}
	}
}

// object returns a template with one ConfigMap.
func object(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n"
}

// part returns a chart in a form that only this Helm can load.
func part(name string) map[string]string {
	return map[string]string{
		name + "/Chart.yaml": "apiVersion: v3 # of " + name + "\nname: " + name + "\nversion: 1.0.0\nrunHooksInParallel: true\nteam: {of: " + name + "}\n" +
			"annotations:\n  helm.sh/depends-on/subcharts: [] # as a list\n",
		name + "/templates/all.yaml": object(name),
	}
}

// TestThroughEveryCommand processes a chart with dependencies of every origin from its
// directory to a registry and back.
func TestThroughEveryCommand(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, name := range []string{"queue", "cache", "db"} {
		p.write(part(name))
	}
	served := t.TempDir()
	if err := chartserver.Publish(loader.LoadDir, served, filepath.Join(p.dir, "cache")); err != nil {
		t.Fatal(err)
	}
	// Packaged by another program, it still contains its lists.
	if _, err := helmloader.LoadFile(filepath.Join(served, "cache-1.0.0.tgz")); err == nil {
		t.Fatal("the archive is one that Helm can load")
	}
	server := chartserver.Start(t, served, chartserver.Options{})
	registry := ociregistry.Start(t, ociregistry.Options{})
	charts := "oci://" + registry.Host() + "/charts"

	// create, package, push
	p.ok("package db -d packed")
	p.ok("push packed/db-1.0.0.tgz " + charts + " --plain-http")
	p.write(map[string]string{
		"shop/Chart.yaml": "apiVersion: v3\nname: shop\nversion: 1.2.0\nappVersion: '1'\nrunHooksInParallel: otherChartsOnly\nteam: shop\n" +
			"annotations:\n  helm.sh/depends-on/subcharts: [queue, db]\n" +
			"dependencies:\n" +
			"- {name: queue, version: 1.x, repository: file://../queue, depends-on: [cache]}\n" +
			"- {name: cache, version: '*', repository: '" + server.URL + "'}\n" +
			"- {name: db, version: ^1.0.0, repository: '" + charts + "', depends-on: [cache]}\n",
		"shop/values.yaml":        "a: 1\n",
		"shop/templates/all.yaml": object("shop"),
	})

	// dependency
	p.ok("dependency update shop --plain-http")
	lock := p.read("shop/Chart.lock")
	contains(t, lock, "name: queue", "name: cache", "name: db", "version: 1.0.0")
	contains(t, p.ok("dependency list shop"), "queue\t1.x    \tfile://../queue", "ok")
	if strings.Contains(p.ok("dependency list shop"), "missing") {
		t.Error("dependencies are missing")
	}
	if err := os.RemoveAll(filepath.Join(p.dir, "shop", "charts")); err != nil {
		t.Fatal(err)
	}
	p.fails("no repository definition for "+server.URL, "dependency build shop --plain-http")
	p.ok("repo add served " + server.URL)
	p.ok("dependency build shop --plain-http")
	if p.read("shop/Chart.lock") != lock {
		t.Error("build has changed the lock file")
	}
	p.ok("lint shop --strict --with-subcharts")

	// package, show, template, dag
	p.ok("package shop -d packed --dependency-update --plain-http")
	const packed = "packed/shop-1.2.0.tgz"
	wantShop(t, filepath.Join(p.dir, packed))
	for _, subject := range []string{"shop", packed} {
		contains(t, p.ok("show chart "+subject), "apiVersion: v3", "runHooksInParallel: otherChartsOnly", "depends-on:\n  - cache",
			`helm.sh/depends-on/subcharts: '["queue","db"]'`)
		contains(t, p.ok("show all "+subject), "runHooksInParallel: otherChartsOnly", "---\na: 1")
	}
	if a, b := p.ok("dag shop"), p.ok("dag "+packed); a != b || !strings.Contains(a, "cache") {
		t.Errorf("the order of the folder:\n%s\nthat of the archive:\n%s", a, b)
	}
	for _, line := range []string{"show all ", "lint ", "template web ", "dependency list "} {
		p.ok(line + packed)
	}
	for _, line := range []string{"show all ", "template web ", "dependency list "} {
		p.stockOK(line + packed)
	}

	// push, pull
	p.ok("push " + packed + " " + charts + " --plain-http")
	p.ok("pull " + charts + "/shop --version 1.2.0 --plain-http --untar --untardir unpacked")
	p.ok("pull " + charts + "/shop --version 1.2.0 --plain-http")
	if p.read("shop-1.2.0.tgz") != p.read(packed) {
		t.Error("what was pulled is not what was pushed")
	}
	p.stockOK("template web " + charts + "/shop --version 1.2.0 --plain-http")
	p.ok("pull " + server.URL + "/cache-1.0.0.tgz --untar -d unpacked")
	if p.read("unpacked/cache/Chart.yaml") != p.read("cache/Chart.yaml") {
		t.Error("what was unpacked is not as it was packed")
	}
	for _, line := range []string{"show chart served/cache", "template web served/cache", "lint unpacked/cache", "search repo served/cache"} {
		contains(t, p.ok(line), "cache")
	}
}

// wantShop checks that Helm can load an archive and that the archive is complete.
func wantShop(t *testing.T, archive string) {
	t.Helper()
	ch, err := helmloader.LoadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	d, err := chartloader.Declarations(ch)
	if err != nil {
		t.Fatal(err)
	}
	if d.Hooks != hookrunner.OtherChartsOnly || strings.Join(d.DependsOnSubcharts, " ") != "db queue" || len(d.Dependencies) != 3 {
		t.Errorf("it declares %+v", d)
	}
	for _, dep := range d.Dependencies {
		if want := map[string]string{"queue": "cache", "db": "cache"}[dep.Name]; strings.Join(dep.DependsOn, " ") != want {
			t.Errorf("%s comes after %q, want %q", dep.Name, dep.DependsOn, want)
		}
	}
	for _, sub := range d.Subcharts {
		if sub.APIVersion != "v3" || sub.Hooks != hookrunner.Parallel {
			t.Errorf("inside, %+v", sub)
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

// TestPushOfWhatOthersPacked uploads archives with lists.
func TestPushOfWhatOthersPacked(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(part("cache"))
	data, err := chartserver.Pack(filepath.Join(p.dir, "cache"))
	if err != nil {
		t.Fatal(err)
	}
	p.write(map[string]string{"cache-1.0.0.tgz": string(data)})
	registry := ociregistry.Start(t, ociregistry.Options{})
	charts := "oci://" + registry.Host() + "/charts"
	p.ok("push cache-1.0.0.tgz " + charts + " --plain-http")
	p.write(map[string]string{"pulled/here": ""})
	p.ok("pull " + charts + "/cache --version 1.0.0 --plain-http -d pulled")
	ch, err := helmloader.LoadFile(filepath.Join(p.dir, "pulled", "cache-1.0.0.tgz"))
	if err != nil {
		t.Fatalf("stock cannot load what was pushed: %v", err)
	}
	if d, err := chartloader.Declarations(ch); err != nil || d.Hooks != hookrunner.Parallel || d.APIVersion != "v3" {
		t.Errorf("it declares %+v, %v", d, err)
	}
	if p.read("cache-1.0.0.tgz") != string(data) {
		t.Error("the archive itself was changed")
	}
	p.write(map[string]string{"cache-1.0.0.tgz.prov": "signed"})
	p.fails("its signature covers them", "push cache-1.0.0.tgz "+charts+" --plain-http")
}

// TestIndex lists charts that stock Helm leaves out, in an index that stock Helm can read.
func TestIndex(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(part("cache"))
	data, err := chartserver.Pack(filepath.Join(p.dir, "cache"))
	if err != nil {
		t.Fatal(err)
	}
	p.write(map[string]string{"repo/cache-1.0.0.tgz": string(data), "repo/broken.tgz": "no archive"})
	p.ok("repo index repo --url https://charts.example.com")
	index, err := repo.LoadIndexFile(filepath.Join(p.dir, "repo", "index.yaml"))
	if err != nil {
		t.Fatalf("stock cannot read the index: %v", err)
	}
	entry, err := index.Get("cache", "1.0.0")
	if err != nil || entry.APIVersion != "v3" || entry.URLs[0] != "https://charts.example.com/cache-1.0.0.tgz" {
		t.Errorf("got %+v, %v", entry, err)
	}
}

// TestSigned signs a chart with lists and verifies the result.
func TestSigned(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(part("cache"))
	key := signing.NewKey(t, "Ada", "")
	p.ok("package cache --sign --key Ada --keyring " + key.SecretRing)
	contains(t, p.ok("verify cache-1.0.0.tgz --keyring "+key.PublicRing), "Signed by: Ada")
	p.stockOK("verify cache-1.0.0.tgz --keyring " + key.PublicRing)
	p.ok("template web cache-1.0.0.tgz --verify --keyring " + key.PublicRing)
}

// TestStarter creates a chart from a starter that declares an order.
func TestStarter(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(part("cache"))
	p.ok("create mine --starter " + filepath.Join(p.dir, "cache"))
	contains(t, p.ok("show chart mine"), "apiVersion: v3", "name: mine", "runHooksInParallel: true")
	p.ok("lint mine")
}

// TestNothingIsLeftInTemporaryFolders runs commands that use temporary directories.
func TestNothingIsLeftInTemporaryFolders(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(part("cache"))
	p.write(map[string]string{"need/Chart.yaml": "apiVersion: v3\nname: need\nversion: 1.0.0\ndependencies:\n- {name: cache, version: 1.0.0, repository: file://../cache}\n"})
	temporary := filepath.Join(p.dir, "temporary")
	if err := os.Mkdir(temporary, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"dependency update need", "lint need", "package need", "lint need-1.0.0.tgz"} {
		cmd := exec.CommandContext(t.Context(), p.programs.Helm, strings.Fields(line)...)
		cmd.Dir, cmd.Env = p.dir, []string{"HOME=" + p.dir, "TMPDIR=" + temporary}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("helm %s: %v\n%s", line, err, out)
		}
	}
	err := filepath.WalkDir(p.dir, func(path string, _ fs.DirEntry, err error) error {
		if strings.Contains(filepath.Base(path), "tmp") || filepath.Dir(path) == temporary {
			t.Errorf("%s is left", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
