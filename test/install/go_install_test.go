// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package install checks the ways in which users install Ordered Helm: go install, and the GitHub
// action that installs a release.
package install

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"github.com/ordered-helm/helm/test/binaries"
)

const modulePath = "github.com/ordered-helm/helm"

// TestGoInstall checks that go install builds the module from a module proxy, and that the result
// reports its version and assumes the same versions of Kubernetes and Helm as the result of make.
func TestGoInstall(t *testing.T) {
	t.Parallel()
	set, dir := binaries.Get(t), t.TempDir()
	proxy, cache, bin := filepath.Join(dir, "proxy"), filepath.Join(dir, "cache"), filepath.Join(dir, "bin")
	publish(t, proxy, "v1.2.3")
	linkModules(t, strings.TrimSpace(output(t, nil, "go", "env", "GOMODCACHE")), cache, modulePath)
	output(t, []string{"GOMODCACHE=" + cache, "GOBIN=" + bin, "GOPROXY=file://" + proxy, "GOSUMDB=off", "GOWORK=off", "GOFLAGS=-trimpath -modcacherw", "CGO_ENABLED=0"},
		"go", "install", "-p", "2", modulePath+"/cmd/helm@v1.2.3")

	helm := filepath.Join(bin, "helm")
	makes, _, _ := strings.Cut(output(t, nil, set.Helm, "version", "--template", "{{.Version}}"), "+")
	if got, want := output(t, nil, helm, "version", "--template", "{{.Version}}"), makes+"+ordered.1.2.3"; got != want {
		t.Errorf("the version is %s, not %s", got, want)
	}
	chart := filepath.Join(dir, "chart")
	write(t, filepath.Join(chart, "Chart.yaml"), "apiVersion: v2\nname: app\nversion: 0.1.0\nicon: https://example.com/icon.svg\n")
	write(t, filepath.Join(chart, "templates", "a.yaml"), `apiVersion: policy/v1beta1
kind: PodDisruptionBudget
metadata:
  name: a
  labels: {kubernetes: "{{ .Capabilities.KubeVersion.Version }}", helm: "{{ .Capabilities.HelmVersion.Version }}"}
`)
	for _, args := range [][]string{{"template", "rel", chart}, {"lint", chart}} {
		if got, want := output(t, nil, helm, args...), output(t, nil, set.Helm, args...); got != want {
			t.Errorf("%s prints\n%sand the program that make built prints\n%s", args[0], got, want)
		}
	}
}

// publish writes the module to a directory that is used as a module proxy.
func publish(t *testing.T, proxy, version string) {
	t.Helper()
	root := binaries.Root(t)
	var files []zip.File
	for name := range strings.Lines(output(t, nil, "git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard")) {
		f := file{root, strings.TrimSuffix(name, "\n")}
		if info, err := f.Lstat(); err == nil && info.Mode().IsRegular() {
			files = append(files, f)
		}
	}
	versions := filepath.Join(proxy, modulePath, "@v")
	write(t, filepath.Join(versions, "list"), version+"\n")
	write(t, filepath.Join(versions, version+".info"), `{"Version":"`+version+`","Time":"2026-01-02T03:04:05Z"}`)
	goMod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	check(t, err)
	write(t, filepath.Join(versions, version+".mod"), string(goMod))
	out, err := os.Create(filepath.Join(versions, version+".zip"))
	check(t, err)
	check(t, zip.Create(out, module.Version{Path: modulePath, Version: version}, files))
	check(t, out.Close())
}

// file is a file of the module. It implements zip.File.
type file struct{ root, name string }

func (f file) Path() string                 { return filepath.ToSlash(f.name) }
func (f file) Lstat() (os.FileInfo, error)  { return os.Lstat(filepath.Join(f.root, f.name)) }
func (f file) Open() (io.ReadCloser, error) { return os.Open(filepath.Join(f.root, f.name)) }

// linkModules creates a module cache in dir that contains links to the modules in cache, so that
// nothing is downloaded, and nothing is written to cache. It omits the module with the given path.
func linkModules(t *testing.T, cache, dir, omitted string) {
	t.Helper()
	for _, start := range []string{"", filepath.Join("cache", "download")} {
		for at := filepath.Dir(omitted); ; at = filepath.Dir(at) {
			linkEntries(t, filepath.Join(cache, start, at), filepath.Join(dir, start, at))
			if at == "." {
				break
			}
		}
	}
}

// linkEntries creates a link in to for each entry of from, unless to already has an entry of this
// name, or the entry is the cache itself.
func linkEntries(t *testing.T, from, to string) {
	t.Helper()
	check(t, os.MkdirAll(to, 0o755))
	entries, err := os.ReadDir(from)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, err := os.Lstat(filepath.Join(to, e.Name())); err == nil || e.Name() == "cache" {
			continue
		}
		check(t, os.Symlink(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())))
	}
}

// output runs a program with additional environment variables, and returns its standard output.
func output(t *testing.T, env []string, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, &stderr)
	}
	return string(out)
}

func write(t *testing.T, name, content string) {
	t.Helper()
	check(t, os.MkdirAll(filepath.Dir(name), 0o755))
	check(t, os.WriteFile(name, []byte(content), 0o644))
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
