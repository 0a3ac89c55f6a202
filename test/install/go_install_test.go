// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package install checks the ways in which users install Ordered Helm: go install, and the GitHub
// action that installs a release.
package install

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/zip"

	"github.com/ordered-helm/helm/test/binaries"
)

// TestGoInstall checks that the module fulfils the requirements of go install, and that a program
// that is built without the linker flags of make reports its version, and assumes the same versions
// of Kubernetes and Helm as the result of make. Go records the version in the same place for go
// install and for a build of a tagged commit.
func TestGoInstall(t *testing.T) {
	t.Parallel()
	set, dir := binaries.Get(t), t.TempDir()
	repository, bin := filepath.Join(dir, "repository"), filepath.Join(dir, "bin")
	tagCopy(t, repository, "v1.2.3")
	checkInstallable(t, repository)
	output(t, []string{"GOBIN=" + bin, "GOWORK=off", "GOFLAGS=-trimpath", "CGO_ENABLED=0"},
		"go", "-C", repository, "install", "-p", "2", "-buildvcs=true", "./cmd/helm")

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

// tagCopy copies the files of the repository to a new repository, whose only commit has a tag.
func tagCopy(t *testing.T, to, tag string) {
	t.Helper()
	root := binaries.Root(t)
	for line := range strings.Lines(output(t, nil, "git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard")) {
		name := strings.TrimSuffix(line, "\n")
		content, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // deleted, but not committed yet
		}
		check(t, err)
		write(t, filepath.Join(to, name), string(content))
	}
	for _, args := range [][]string{
		{"init", "--quiet"}, {"add", "--all", "--force"}, {"commit", "--quiet", "--message", "copy"}, {"tag", tag},
	} {
		identity := []string{"-C", to, "-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgSign=false"}
		output(t, nil, "git", append(identity, args...)...)
	}
}

// checkInstallable checks what go install requires of a module that it gets from elsewhere: its
// files fit into a module archive, and its go.mod has no directives that apply only in the main
// module.
func checkInstallable(t *testing.T, repository string) {
	t.Helper()
	files, err := zip.CheckDir(repository)
	check(t, err)
	check(t, files.Err())
	content, err := os.ReadFile(filepath.Join(repository, "go.mod"))
	check(t, err)
	parsed, err := modfile.Parse("go.mod", content, nil)
	check(t, err)
	if len(parsed.Replace)+len(parsed.Exclude) > 0 {
		t.Error("go.mod contains replace or exclude directives, which go install rejects")
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
