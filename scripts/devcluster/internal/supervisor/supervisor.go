// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package supervisor runs a cluster: it starts the processes, waits until the cluster is
// ready, and stops everything at the end or if a process fails.
package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"

	"github.com/ordered-helm/helm/scripts/devcluster/internal/binaries"
	"github.com/ordered-helm/helm/scripts/devcluster/internal/controlplane"
	"github.com/ordered-helm/helm/scripts/devcluster/internal/filelock"
	"github.com/ordered-helm/helm/scripts/devcluster/internal/kubelet"
	"github.com/ordered-helm/helm/scripts/devcluster/internal/loadbalancer"
	"github.com/ordered-helm/helm/scripts/devcluster/internal/statedir"
	"github.com/ordered-helm/helm/scripts/devcluster/internal/volumes"
)

// Options configure a cluster.
type Options struct {
	// Dir is the directory of the cluster.
	Dir statedir.Dir
	// BinDir is the directory of the binaries. If it is empty, they are built or taken from
	// the cache.
	BinDir string
	// RemoveDir is true if the directory is deleted when the cluster has ended.
	RemoveDir bool
	// StartTimeout is the time within which the cluster must become ready. It does not include
	// the time to build binaries.
	StartTimeout time.Duration
	// Progress receives progress messages and warnings.
	Progress io.Writer
}

// Facts contains the information about a ready cluster that its users need.
type Facts struct {
	Kubeconfig, Server, AuditLog, BinDir string
	// StartTime is the time that the start took.
	StartTime time.Duration
}

// AlreadyRunningError is the error of Run if a cluster is already running in the directory.
type AlreadyRunningError struct {
	Dir statedir.Dir
}

func (e *AlreadyRunningError) Error() string {
	return fmt.Sprintf("a cluster is already running in %s: stop it, or use another directory", e.Dir)
}

// EnsureBinaries returns the directory of the cluster's binaries. If they are not in the
// cache, it builds them first.
func EnsureBinaries(ctx context.Context, progress io.Writer) (string, error) {
	cache, err := binaries.CacheDir()
	if err != nil {
		return "", err
	}
	source, err := binaries.ClusterSource()
	if err != nil {
		return "", err
	}
	builder := binaries.Builder{CacheDir: cache, Source: source, Progress: progress}
	return builder.Ensure(ctx)
}

// Run runs a cluster until ctx ends, and calls ready when the cluster is ready. It returns an
// error if the cluster does not start or one of its processes ends, and nil if ctx has ended.
// When Run returns, no process of the cluster is running.
func Run(ctx context.Context, opts Options, ready func(Facts)) (err error) {
	lock, err := opts.Dir.Claim(ctx)
	if errors.Is(err, filelock.ErrHeld) {
		return &AlreadyRunningError{Dir: opts.Dir}
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, retire(opts), lock.Release()) }()
	if err := opts.Dir.Reset(); err != nil {
		return err
	}
	if opts.BinDir == "" {
		if opts.BinDir, err = EnsureBinaries(ctx, opts.Progress); err != nil {
			return untilStopped(ctx, err)
		}
	}
	if err := os.WriteFile(opts.Dir.Binaries(), []byte(opts.BinDir+"\n"), 0o600); err != nil {
		return fmt.Errorf("record the directory of the binaries: %w", err)
	}
	s := &supervisor{opts: opts, ready: ready, began: time.Now()}
	return untilStopped(ctx, s.run(ctx, lock))
}

func retire(opts Options) error {
	if !opts.RemoveDir {
		return opts.Dir.Retire()
	}
	if err := os.RemoveAll(string(opts.Dir)); err != nil {
		return fmt.Errorf("remove the directory of the cluster: %w", err)
	}
	return nil
}

// untilStopped returns err, or nil if err only means that ctx has ended.
func untilStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

type supervisor struct {
	opts  Options
	ready func(Facts)
	began time.Time
}

func (s *supervisor) run(ctx context.Context, lock *filelock.Lock) error {
	starting, cancel := context.WithTimeout(ctx, s.opts.StartTimeout)
	defer cancel()
	plane, err := controlplane.Start(starting, controlplane.Options{
		Dir: s.opts.Dir, BinDir: s.opts.BinDir, Inherit: lock.File(),
	})
	if err != nil {
		return fmt.Errorf("start the cluster: %w", err)
	}
	defer plane.Stop(ctx)
	client, err := kubernetes.NewForConfig(plane.SupervisorConfig())
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	// The API server ends only when its requests have ended, so the parts that watch it end
	// first.
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return plane.Watch(groupCtx) })
	group.Go(func() error { return s.runParts(groupCtx, client, plane) })
	return group.Wait()
}

// runParts runs the parts of the cluster that are in this process: kubelets, volumes and load
// balancers.
func (s *supervisor) runParts(ctx context.Context, client kubernetes.Interface, plane *controlplane.ControlPlane) error {
	log := slog.New(slog.NewTextHandler(s.opts.Progress, &slog.HandlerOptions{Level: slog.LevelWarn}))
	pods, err := kubelet.New(client, log)
	if err != nil {
		return err
	}
	provisioner, err := volumes.New(client, log)
	if err != nil {
		return err
	}
	balancer, err := loadbalancer.New(client, log)
	if err != nil {
		return err
	}
	cert := plane.KubeletCertificate()
	logs, err := kubelet.NewServer(ctx, client, kubelet.ServerTLS{
		CertPEM: cert.CertPEM, KeyPEM: cert.KeyPEM,
		ClientCAPEM: plane.KubeletClientCA(), ClientName: plane.KubeletClientName(),
	})
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return pods.Run(ctx) })
	group.Go(func() error { return provisioner.Run(ctx) })
	group.Go(func() error { return balancer.Run(ctx) })
	group.Go(func() error { return logs.Run(ctx) })
	group.Go(func() error {
		starting, cancel := context.WithDeadline(ctx, s.began.Add(s.opts.StartTimeout))
		defer cancel()
		return s.bringUp(starting, bringUp{client: client, plane: plane, logPort: logs.Port()})
	})
	return group.Wait()
}
