// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package statedir defines the files in the directory of a cluster.
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

// claimPatience is how long Claim waits for the lock. It is longer than Running holds the
// lock, so that only a running cluster makes Claim fail.
const claimPatience = 500 * time.Millisecond

// Dir is the absolute path of the directory of a cluster.
type Dir string

// New returns the directory with this path, as an absolute path. It creates nothing.
func New(path string) (Dir, error) {
	if path == "" {
		return "", errors.New("no directory for the cluster: set one with --dir")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("find directory %s: %w", path, err)
	}
	return Dir(abs), nil
}

// Kubeconfig is the path of the kubeconfig of the cluster's admin user. The file exists only
// while the cluster is ready. The methods below return paths in the directory, too.
func (d Dir) Kubeconfig() string { return d.path("kubeconfig") }

// AuditLog is the API server's audit log, with one JSON event per line.
func (d Dir) AuditLog() string { return d.path("audit.log") }

// Logs is the directory with one log file per process.
func (d Dir) Logs() string { return d.path("logs") }

// Log is the log file of the named process.
func (d Dir) Log(name string) string { return filepath.Join(d.Logs(), name+".log") }

// SupervisorLog is the output of a detached supervisor.
func (d Dir) SupervisorLog() string { return d.path("supervisor.log") }

// Etcd is etcd's data directory.
func (d Dir) Etcd() string { return d.path("etcd") }

// PKI is the directory of keys and certificates.
func (d Dir) PKI() string { return d.path("pki") }

// Config is the directory of the configuration files of the components.
func (d Dir) Config() string { return d.path("config") }

// Binaries is the path of a file that contains the path of the directory of the cluster's
// binaries.
func (d Dir) Binaries() string { return d.path("binaries") }

func (d Dir) lock() string { return d.path("lock") }

func (d Dir) pid() string { return d.path("supervisor.pid") }

func (d Dir) path(name string) string { return filepath.Join(string(d), name) }

// Claim locks the directory for this process. The lock is free when it was released and all
// child processes that have inherited it have ended. If a cluster is already running in the
// directory, Claim returns filelock.ErrHeld.
func (d Dir) Claim(ctx context.Context) (*filelock.Lock, error) {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return nil, fmt.Errorf("create the directory of the cluster: %w", err)
	}
	// Running holds the lock for a moment, too, if another process calls it.
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

// Running reports whether any process of a cluster is running in the directory. It tries the
// lock, and does not use the pid file, which can be stale.
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

// SupervisorPID returns the process ID of the supervisor. It is valid only while Running
// returns true.
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

// Reset deletes the files of an earlier cluster in the directory, and creates the directories
// that a new cluster needs. It keeps other files.
func (d Dir) Reset() error {
	for _, path := range []string{d.Kubeconfig(), d.AuditLog(), d.Logs(), d.Etcd(), d.PKI(), d.Config(), d.Binaries()} {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("remove the files of an earlier cluster: %w", err)
		}
	}
	for _, path := range []string{d.Logs(), d.Etcd(), d.PKI(), d.Config()} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return fmt.Errorf("create the directory of the cluster: %w", err)
		}
	}
	return nil
}

// Retire deletes the files that must not outlive the cluster: the kubeconfig, the pid file and
// the data. It keeps the logs.
func (d Dir) Retire() error {
	var errs []error
	for _, path := range []string{d.Kubeconfig(), d.Etcd(), d.PKI(), d.Config(), d.pid()} {
		if err := os.RemoveAll(path); err != nil {
			errs = append(errs, fmt.Errorf("clean up the directory of the cluster: %w", err))
		}
	}
	return errors.Join(errs...)
}
