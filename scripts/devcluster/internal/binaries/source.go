// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	devcluster "github.com/ordered-helm/helm/scripts/devcluster"
	"github.com/ordered-helm/helm/scripts/devcluster/internal/process"
)

// Source says what to build: the tools of a module, which need nothing but
// its go.mod and go.sum.
type Source struct {
	GoMod, GoSum string
	// Flags are flags of go build.
	Flags []string
	// Renames are files to rename after the build, from built to wanted.
	Renames map[string]string
}

// kubernetesVersion finds the version of Kubernetes in a go.mod.
var kubernetesVersion = regexp.MustCompile(`(?m)^\s*k8s\.io/kubernetes (v(\d+)\.(\d+)\.\S+)`)

// ClusterSource is the source of the cluster's binaries, at the versions of
// this module's go.mod.
func ClusterSource() (Source, error) {
	match := kubernetesVersion.FindStringSubmatch(devcluster.GoMod())
	if match == nil {
		return Source{}, errors.New("go.mod of the dev cluster names no version of k8s.io/kubernetes")
	}
	// Without a version set at link time the server says v0.0.0, and charts
	// that ask for one fail.
	ldflags := []string{"-s", "-w"}
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		ldflags = append(ldflags,
			"-X "+pkg+".gitVersion="+match[1],
			"-X "+pkg+".gitMajor="+match[2],
			"-X "+pkg+".gitMinor="+match[3],
			"-X "+pkg+".gitTreeState=clean",
		)
	}
	return Source{
		GoMod:   devcluster.GoMod(),
		GoSum:   devcluster.GoSum(),
		Flags:   []string{"-trimpath", "-buildvcs=false", "-ldflags=" + strings.Join(ldflags, " ")},
		Renames: map[string]string{etcdBuilt: Etcd},
	}, nil
}

// key names the result of the build.
func (s Source) key(ctx context.Context) (string, error) {
	env, err := goEnv(ctx)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	for _, part := range append([]string{s.GoMod, s.GoSum, env}, s.Flags...) {
		// The length keeps two parts apart from one.
		fmt.Fprintf(hash, "%d\n%s", len(part), part)
	}
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}

// environment is that of the go command. The binaries need no C, and are the same
// whether or not the caller's build uses it.
var environment = []string{"GOWORK=off", "CGO_ENABLED=0"}

// goEnv returns what of the go command's settings changes what it builds.
func goEnv(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "env", "GOVERSION", "GOOS", "GOARCH", "CGO_ENABLED", "GOFLAGS", "GOEXPERIMENT")
	cmd.Env = append(os.Environ(), environment...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("ask the go command for its settings (is Go installed?): %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}

func (s Source) write(dir string) error {
	for name, text := range map[string]string{"go.mod": s.GoMod, "go.sum": s.GoSum} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return fmt.Errorf("write build folder: %w", err)
		}
	}
	return nil
}

func (s Source) compile(ctx context.Context, dir, out string) error {
	args := append([]string{"build"}, s.Flags...)
	args = append(args, "-o", out+string(filepath.Separator), "tool")
	err := runLogged(ctx, process.Spec{
		Name:    "go build of the cluster's binaries",
		Path:    "go",
		Args:    args,
		Dir:     dir,
		Env:     environment,
		LogPath: filepath.Join(dir, "build.log"),
	})
	if err != nil {
		return err
	}
	for from, to := range s.Renames {
		if err := os.Rename(filepath.Join(out, from), filepath.Join(out, to)); err != nil {
			return fmt.Errorf("rename binary: %w", err)
		}
	}
	return nil
}
