// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package binaries builds the programs of a cluster from their Go modules, once per machine
// and version.
package binaries

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/ordered-helm/helm/scripts/devcluster/internal/filelock"
	"github.com/ordered-helm/helm/scripts/devcluster/internal/process"
)

// CacheEnv is the environment variable with the directory in which binaries are cached. The
// default is ordered-helm/devcluster in the user's cache directory.
const CacheEnv = "DEVCLUSTER_CACHE"

// The programs of a cluster.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kubectl           = "kubectl"
	Kwok              = "kwok"
)

// etcdBuilt is the name that the go command gives to the etcd binary.
const etcdBuilt = "server"

// CacheDir returns the directory in which the binaries of all versions are cached.
func CacheDir() (string, error) {
	if dir := os.Getenv(CacheEnv); dir != "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return "", fmt.Errorf("find the cache directory: %w", err)
		}
		return abs, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache directory (set %s to choose one): %w", CacheEnv, err)
	}
	return filepath.Join(dir, "ordered-helm", "devcluster"), nil
}

// Builder builds binaries from a source.
type Builder struct {
	// CacheDir is the directory in which binaries are cached.
	CacheDir string
	// Source is what is built.
	Source Source
	// Progress receives a line before a build and before a wait for another process. It can be
	// nil.
	Progress io.Writer
}

// Ensure returns the directory of the binaries. It builds them if they are not in the
// cache. If another caller, also in another process, is building the same binaries, Ensure
// waits for it.
func (b *Builder) Ensure(ctx context.Context) (string, error) {
	key, err := b.Source.key(ctx)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(b.CacheDir, key)
	if complete(dir) {
		return dir, nil
	}
	if err := os.MkdirAll(b.CacheDir, 0o755); err != nil {
		return "", fmt.Errorf("create the cache directory: %w", err)
	}
	lock, err := filelock.Acquire(ctx, dir+".lock", func() {
		b.report("waiting for another process that is building the same binaries")
	})
	if err != nil {
		return "", fmt.Errorf("get the cluster's binaries: %w", err)
	}
	if !complete(dir) {
		err = b.build(ctx, dir)
	}
	return dir, errors.Join(err, lock.Release())
}

// complete reports whether dir contains all binaries. This is the case if it exists, because a
// build renames its directory to dir when it is finished.
func complete(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}

// build builds into a directory next to dir, and then renames it to dir. The caller holds
// the lock.
func (b *Builder) build(ctx context.Context, dir string) (err error) {
	if err := removeAbandoned(dir); err != nil {
		return err
	}
	work, err := os.MkdirTemp(b.CacheDir, filepath.Base(dir)+".build-")
	if err != nil {
		return fmt.Errorf("create the build directory: %w", err)
	}
	defer func() {
		if removeErr := os.RemoveAll(work); removeErr != nil {
			err = errors.Join(err, fmt.Errorf("remove the build directory: %w", removeErr))
		}
	}()
	if err := b.Source.write(work); err != nil {
		return err
	}
	out := filepath.Join(work, "out")
	if err := os.Mkdir(out, 0o755); err != nil {
		return fmt.Errorf("create the build directory: %w", err)
	}
	b.report("building the binaries of the cluster; this takes some minutes, and is done only once")
	if err := b.Source.compile(ctx, work, out); err != nil {
		return err
	}
	if err := os.Rename(out, dir); err != nil {
		return fmt.Errorf("keep the binaries: %w", err)
	}
	b.report("binaries are in " + dir)
	return nil
}

// removeAbandoned removes the directories of builds that were killed.
func removeAbandoned(dir string) error {
	left, err := filepath.Glob(dir + ".build-*")
	if err != nil {
		return fmt.Errorf("look for abandoned builds: %w", err)
	}
	for _, path := range left {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("remove abandoned build: %w", err)
		}
	}
	return nil
}

func (b *Builder) report(line string) {
	if b.Progress != nil {
		_, _ = fmt.Fprintln(b.Progress, line)
	}
}

// runLogged runs the go command to its end, or stops it when ctx ends.
func runLogged(ctx context.Context, spec process.Spec) error {
	spawner := process.NewSpawner()
	defer spawner.Close()
	p, err := spawner.Start(ctx, spec)
	if err != nil {
		return err
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		stopped, cancel := context.WithCancel(context.WithoutCancel(ctx))
		cancel()
		p.Stop(stopped)
		return fmt.Errorf("%s: %w", spec.Name, ctx.Err())
	}
	if p.Err() != nil {
		return p.ExitError()
	}
	return nil
}
