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

// Source describes the binaries to build: the tools of a module, given by its go.mod and
// go.sum.
type Source struct {
	GoMod, GoSum string
	// Flags are the flags of go build.
	Flags []string
	// Renames are the files to rename after the build, from their old to their new names.
	Renames map[string]string
}

// kubernetesVersion matches the version of Kubernetes in a go.mod.
var kubernetesVersion = regexp.MustCompile(`(?m)^\s*k8s\.io/kubernetes (v(\d+)\.(\d+)\.\S+)`)

// ClusterSource returns the source of the cluster's binaries, with the versions of this
// module's go.mod.
func ClusterSource() (Source, error) {
	match := kubernetesVersion.FindStringSubmatch(devcluster.GoMod())
	if match == nil {
		return Source{}, errors.New("the go.mod of the dev cluster does not require k8s.io/kubernetes")
	}
	// Without a version that is set at link time, the API server would report v0.0.0, and
	// charts that require a version of Kubernetes would be rejected.
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

// key returns a digest of everything on which the result of the build depends.
func (s Source) key(ctx context.Context) (string, error) {
	env, err := goEnv(ctx)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	for _, part := range append([]string{s.GoMod, s.GoSum, env}, s.Flags...) {
		// With the lengths, a different division into parts leads to a different hash.
		fmt.Fprintf(hash, "%d\n%s", len(part), part)
	}
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}

// environment contains additional environment variables for the go command. The binaries are
// built without cgo, so that they do not depend on the caller's setting.
var environment = []string{"GOWORK=off", "CGO_ENABLED=0"}

// goEnv returns the settings of the go command that affect the build.
func goEnv(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "env", "GOVERSION", "GOOS", "GOARCH", "CGO_ENABLED", "GOFLAGS", "GOEXPERIMENT")
	cmd.Env = append(os.Environ(), environment...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("read the settings of the go command (is Go installed?): %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}

func (s Source) write(dir string) error {
	for name, text := range map[string]string{"go.mod": s.GoMod, "go.sum": s.GoSum} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return fmt.Errorf("write the build directory: %w", err)
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
