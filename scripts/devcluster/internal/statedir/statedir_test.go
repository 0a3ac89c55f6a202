// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package statedir

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ordered-helm/helm/scripts/devcluster/internal/filelock"
)

func newDir(t *testing.T) Dir {
	t.Helper()
	dir, err := New(filepath.Join(t.TempDir(), "cluster"))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func checkRunning(t *testing.T, dir Dir, want bool) {
	t.Helper()
	if got, err := dir.Running(); err != nil || got != want {
		t.Errorf("running is %v, %v; want %v", got, err, want)
	}
}

func TestClaim(t *testing.T) {
	dir := newDir(t)
	checkRunning(t, dir, false)
	lock, err := dir.Claim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	checkRunning(t, dir, true)
	if pid, err := dir.SupervisorPID(); err != nil || pid != os.Getpid() {
		t.Errorf("the supervisor is %d, %v", pid, err)
	}
	if _, err := dir.Claim(t.Context()); !errors.Is(err, filelock.ErrHeld) {
		t.Errorf("a second claim: %v", err)
	}
	if err := lock.Release(); err != nil {
		t.Error(err)
	}
	// The pid file is stale now.
	checkRunning(t, dir, false)
}

func TestResetAndRetireKeepOtherFiles(t *testing.T) {
	dir := newDir(t)
	lock, err := dir.Claim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := lock.Release(); err != nil {
			t.Error(err)
		}
	}()
	if err := dir.Reset(); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(string(dir), "notes")
	for _, path := range []string{foreign, dir.Kubeconfig(), dir.AuditLog(), dir.Log("etcd"), filepath.Join(dir.PKI(), "ca.key")} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	there := func(want bool, paths ...string) {
		t.Helper()
		for _, path := range paths {
			if _, err := os.Stat(path); (err == nil) != want {
				t.Errorf("%s: there is %v, want %v", path, err == nil, want)
			}
		}
	}
	if err := dir.Retire(); err != nil {
		t.Fatal(err)
	}
	there(true, foreign, dir.AuditLog(), dir.Log("etcd"))
	there(false, dir.Kubeconfig(), dir.PKI(), dir.Etcd())
	if err := dir.Reset(); err != nil {
		t.Fatal(err)
	}
	there(true, foreign, dir.PKI(), dir.Etcd(), dir.Logs())
	there(false, dir.AuditLog(), dir.Log("etcd"))
}

func TestNewWithoutPath(t *testing.T) {
	if dir, err := New(""); err == nil {
		t.Errorf("no name is %s", dir)
	}
}
