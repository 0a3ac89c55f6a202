// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ordered-helm/helm/scripts/devcluster/internal/filelock"
	"github.com/ordered-helm/helm/scripts/devcluster/internal/process"
)

// fakeGo adds a fake go command to the front of PATH. It adds a line to a file for each build,
// and then runs the script, in which $out is the output directory. fakeGo returns the path of
// the file.
func fakeGo(t *testing.T, script string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the fake go command is a shell script")
	}
	dir := t.TempDir()
	calls := filepath.Join(dir, "calls")
	text := fmt.Sprintf(`#!/bin/sh
if [ "$1" = env ]; then echo "$FAKE_GO_ENV"; exit 0; fi
echo build >> %q
while [ $# -gt 0 ]; do
  if [ "$1" = -o ]; then out="$2"; fi
  shift
done
%s
`, calls, script)
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return calls
}

func countCalls(t *testing.T, calls string) int {
	t.Helper()
	raw, err := os.ReadFile(calls)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Count(string(raw), "\n")
}

func newBuilder(t *testing.T) *Builder {
	t.Helper()
	return &Builder{
		CacheDir: filepath.Join(t.TempDir(), "cache"),
		Source:   Source{GoMod: "module fake", Renames: map[string]string{"server": "etcd"}},
	}
}

func TestConcurrentCallersShareBuild(t *testing.T) {
	// The build does not finish before all callers are waiting for it.
	asked := filepath.Join(t.TempDir(), "asked")
	calls := fakeGo(t, fmt.Sprintf(`touch "${out}server"; while [ ! -e %q ]; do sleep 0.01; done`, asked))
	shared := newBuilder(t)

	const n = 5
	waiting := make(chan struct{}, n)
	var running sync.WaitGroup
	dirs := make([]string, n)
	for i := range n {
		running.Go(func() {
			b := *shared
			b.Progress = notify{waiting}
			dir, err := b.Ensure(t.Context())
			if err != nil {
				t.Error(err)
			}
			dirs[i] = dir
		})
	}
	for range n {
		<-waiting
	}
	if err := os.WriteFile(asked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	running.Wait()

	if got := countCalls(t, calls); got != 1 {
		t.Errorf("%d builds, want 1", got)
	}
	for _, dir := range dirs {
		if dir != dirs[0] {
			t.Errorf("folders %v, want one", dirs)
		}
	}
	if _, err := os.Stat(filepath.Join(dirs[0], "etcd")); err != nil {
		t.Error(err)
	}
	left, err := filepath.Glob(filepath.Join(shared.CacheDir, "*.build-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("build folders that are left: %v, %v", left, err)
	}
}

// notify is a Builder.Progress that signals the first line, which a Builder writes when it
// builds or waits.
type notify struct{ waiting chan<- struct{} }

func (n notify) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "building") || strings.Contains(string(p), "waiting") {
		n.waiting <- struct{}{}
	}
	return len(p), nil
}

func TestOtherKeyIsBuiltSeparately(t *testing.T) {
	calls := fakeGo(t, `touch "${out}server"`)
	b := newBuilder(t)
	dirs := map[string]bool{}
	ensure := func() {
		t.Helper()
		dir, err := b.Ensure(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		dirs[dir] = true
	}
	ensure()
	ensure()
	b.Source.Flags = []string{"-trimpath"}
	ensure()
	b.Source.GoSum = "sum"
	ensure()
	b.Source.GoMod = "module other"
	ensure()
	t.Setenv("FAKE_GO_ENV", "another version")
	ensure()
	ensure()
	if len(dirs) != 5 || countCalls(t, calls) != 5 {
		t.Errorf("%d folders of %d builds, want 5 of 5", len(dirs), countCalls(t, calls))
	}
}

func TestFailedBuild(t *testing.T) {
	calls := fakeGo(t, `echo "first words"; echo "no such module" >&2; exit 1`)
	b := newBuilder(t)
	for range 2 {
		_, err := b.Ensure(t.Context())
		var exit *process.ExitError
		if !errors.As(err, &exit) || !strings.Contains(err.Error(), "no such module") {
			t.Errorf("the error is %v", err)
		}
	}
	if got := countCalls(t, calls); got != 2 {
		t.Errorf("%d builds, want 2: a failure is not kept", got)
	}
	entries, err := os.ReadDir(b.CacheDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.IsDir() {
			t.Errorf("%s is left", entry.Name())
		}
	}
}

func TestAbandonedBuildIsCleanedUp(t *testing.T) {
	fakeGo(t, `touch "${out}server"`)
	b := newBuilder(t)
	key, err := b.Source.key(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	abandoned := filepath.Join(b.CacheDir, key+".build-1", "out")
	if err := os.MkdirAll(abandoned, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(abandoned); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the abandoned build is still there: %v", err)
	}
}

func TestWaitEndsWithContext(t *testing.T) {
	fakeGo(t, "exit 1")
	b := newBuilder(t)
	key, err := b.Source.key(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(b.CacheDir, 0o755); err != nil {
		t.Fatal(err)
	}
	lock, err := filelock.Try(filepath.Join(b.CacheDir, key+".lock"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	waiting := make(chan struct{}, 1)
	b.Progress = notify{waiting}
	go func() {
		<-waiting
		cancel()
	}()
	if _, err := b.Ensure(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if err := lock.Release(); err != nil {
		t.Error(err)
	}
}

func TestBuildEndsWithContext(t *testing.T) {
	calls := fakeGo(t, "exec sleep 600")
	b := newBuilder(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for ctx.Err() == nil {
			if _, err := os.Stat(calls); err == nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if _, err := b.Ensure(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

func TestClusterSourceSetsTheVersion(t *testing.T) {
	source, err := ClusterSource()
	if err != nil {
		t.Fatal(err)
	}
	flags := strings.Join(source.Flags, " ")
	for _, want := range []string{
		"-X k8s.io/component-base/version.gitVersion=v1.36.3",
		"-X k8s.io/component-base/version.gitMajor=1",
		"-X k8s.io/component-base/version.gitMinor=36",
		"-X k8s.io/client-go/pkg/version.gitVersion=v1.36.3",
	} {
		if !strings.Contains(flags, want) {
			t.Errorf("flags %s have no %s", flags, want)
		}
	}
}

func TestCacheDirIsOverridable(t *testing.T) {
	want := t.TempDir()
	t.Setenv(CacheEnv, want)
	if got, err := CacheDir(); err != nil || got != want {
		t.Errorf("cache folder %q, %v; want %q", got, err, want)
	}
	t.Setenv(CacheEnv, "")
	t.Setenv("XDG_CACHE_HOME", want)
	if got, err := CacheDir(); runtime.GOOS == "linux" && (err != nil || got != filepath.Join(want, "ordered-helm", "devcluster")) {
		t.Errorf("cache folder %q, %v", got, err)
	}
}
