// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// cacheEnv is the environment variable with the cache directory, which devcluster uses too.
const cacheEnv = "DEVCLUSTER_CACHE"

const modulePath = "github.com/ordered-helm/helm"

// Key returns a digest of the source of devcluster, which determines the versions and flags of
// the clusters that New and Shared start.
func Key() (string, error) {
	source, err := sourceDir()
	if err != nil {
		return "", err
	}
	return sourceKey(source)
}

// sourceDir returns the directory with the source of devcluster.
func sourceDir() (string, error) {
	root, err := moduleRoot()
	return filepath.Join(root, "scripts", "devcluster"), err
}

// buildCommand returns the path of the devcluster command of this checkout. It builds the
// command if it is not in the cache for the current source. Several processes can call it in
// parallel.
func buildCommand(ctx context.Context) (string, error) {
	source, err := sourceDir()
	if err != nil {
		return "", err
	}
	key, err := sourceKey(source)
	if err != nil {
		return "", err
	}
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	command := filepath.Join(cache, "command-"+key)
	if exists(command) {
		return command, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", fmt.Errorf("create the cache directory: %w", err)
	}
	lock := flock.New(filepath.Join(cache, "command.lock"))
	if _, err := lock.TryLockContext(ctx, 50*time.Millisecond); err != nil {
		return "", fmt.Errorf("wait for another process that builds devcluster: %w", err)
	}
	if !exists(command) {
		err = build(ctx, source, cache, command)
	}
	return command, errors.Join(err, lock.Unlock())
}

// build builds the devcluster command from its source, and deletes the cached commands of
// earlier sources. The caller must hold the lock of the cache.
func build(ctx context.Context, source, cache, command string) error {
	old, err := filepath.Glob(filepath.Join(cache, "command-*"))
	if err != nil {
		return fmt.Errorf("look for old commands: %w", err)
	}
	for _, path := range old {
		// Processes that run the command are not affected.
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("remove old command: %w", err)
		}
	}
	temporary := filepath.Join(cache, "command.new")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-o", temporary, "./cmd/devcluster")
	cmd.Dir = source
	cmd.Env = append(os.Environ(), "GOWORK=off")
	cmd.SysProcAttr = dieWithParent()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build devcluster: %w\n%s", err, output)
	}
	if err := os.Rename(temporary, command); err != nil {
		return fmt.Errorf("keep devcluster: %w", err)
	}
	return nil
}

// sourceKey returns a digest of the source of the command.
func sourceKey(source string) (string, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	err := filepath.WalkDir(source, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !isSource(entry) {
			return err
		}
		name, err := filepath.Rel(source, path)
		if err != nil {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		fmt.Fprintln(hash, name)
		_, err = io.Copy(hash, file)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read the source of devcluster: %w", err)
	}
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}

func isSource(entry fs.DirEntry) bool {
	name := entry.Name()
	switch {
	case entry.IsDir() || strings.HasSuffix(name, "_test.go"):
		return false
	default:
		return strings.HasSuffix(name, ".go") || name == "go.mod" || name == "go.sum"
	}
}

func cacheDir() (string, error) {
	if dir := os.Getenv(cacheEnv); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache directory (set %s to choose one): %w", cacheEnv, err)
	}
	return filepath.Join(dir, "ordered-helm", "devcluster"), nil
}

// moduleRoot returns the root directory of the main module. It searches upward from the
// working directory, which is the directory of the tested package.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find working folder: %w", err)
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), "module "+modulePath+"\n") {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no module %s above the working folder", modulePath)
		}
		dir = parent
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
