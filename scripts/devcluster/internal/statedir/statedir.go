// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package statedir knows where in its folder a cluster keeps what.
package statedir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ordered-helm/helm/scripts/devcluster/internal/filelock"
)

// claimPatience is how long a lock must be held to be a cluster's.
const claimPatience = 500 * time.Millisecond

// Dir is the absolute folder of one cluster.
type Dir string

// New returns the folder at path, made absolute. Nothing is created.
func New(path string) (Dir, error) {
	if path == "" {
		return "", errors.New("no folder for the cluster: give one with --dir")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("find folder %s: %w", path, err)
	}
	return Dir(abs), nil
}

// Kubeconfig is the cluster-admin kubeconfig. It exists exactly while the
// cluster is ready.
func (d Dir) Kubeconfig() string { return d.path("kubeconfig") }

// AuditLog is the API server's audit log, one JSON event a line.
func (d Dir) AuditLog() string { return d.path("audit.log") }

// Logs is the folder with one log file per process.
func (d Dir) Logs() string { return d.path("logs") }

// Log is the log file of the process called name.
func (d Dir) Log(name string) string { return filepath.Join(d.Logs(), name+".log") }

// SupervisorLog is what a detached supervisor wrote.
func (d Dir) SupervisorLog() string { return d.path("supervisor.log") }

// Etcd is etcd's data folder.
func (d Dir) Etcd() string { return d.path("etcd") }

// PKI is the folder of keys and certificates.
func (d Dir) PKI() string { return d.path("pki") }

// Config is the folder of the configuration files of the components.
func (d Dir) Config() string { return d.path("config") }

// Binaries is a file that names the folder of the cluster's binaries.
func (d Dir) Binaries() string { return d.path("binaries") }

func (d Dir) lock() string { return d.path("lock") }

func (d Dir) pid() string { return d.path("supervisor.pid") }

func (d Dir) path(name string) string { return filepath.Join(string(d), name) }

// Claim takes the folder for this process, until the lock is released and
// every child that inherited it is gone. It returns filelock.ErrHeld where a
// cluster lives there already.
func (d Dir) Claim(ctx context.Context) (*filelock.Lock, error) {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return nil, fmt.Errorf("make folder of the cluster: %w", err)
	}
	// Running, in another process, holds the lock for a moment too.
	brief, cancel := context.WithTimeout(ctx, claimPatience)
	defer cancel()
	lock, err := filelock.Acquire(brief, d.lock(), nil)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, filelock.ErrHeld
	}
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(d.pid(), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("write pid file: %w", err), lock.Release())
	}
	return lock, nil
}

// Running says whether any process of a cluster lives in the folder. A pid
// file alone says nothing: it may be stale.
func (d Dir) Running() (bool, error) {
	if _, err := os.Stat(d.lock()); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	lock, err := filelock.Try(d.lock())
	if errors.Is(err, filelock.ErrHeld) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return false, lock.Release()
}

// SupervisorPID returns the pid of the supervisor; it means something only
// while Running.
func (d Dir) SupervisorPID() (int, error) {
	raw, err := os.ReadFile(d.pid())
	if err != nil {
		return 0, fmt.Errorf("read pid file: %w", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		return 0, fmt.Errorf("read pid file %s: %w", d.pid(), err)
	}
	return pid, nil
}

// Reset removes what an earlier cluster left in the folder, and makes the
// folders that a new one needs. Files that are not a cluster's stay.
func (d Dir) Reset() error {
	for _, path := range []string{d.Kubeconfig(), d.AuditLog(), d.Logs(), d.Etcd(), d.PKI(), d.Config(), d.Binaries()} {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("remove what an earlier cluster left: %w", err)
		}
	}
	for _, path := range []string{d.Logs(), d.Etcd(), d.PKI(), d.Config()} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return fmt.Errorf("make folder of the cluster: %w", err)
		}
	}
	return nil
}

// Retire removes what must not outlive the cluster: the kubeconfig, the pid
// file and the data. Logs stay, to be read.
func (d Dir) Retire() error {
	var errs []error
	for _, path := range []string{d.Kubeconfig(), d.Etcd(), d.PKI(), d.Config(), d.pid()} {
		if err := os.RemoveAll(path); err != nil {
			errs = append(errs, fmt.Errorf("clean up the cluster's folder: %w", err))
		}
	}
	return errors.Join(errs...)
}
