// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster starts dev clusters for tests, with the devcluster command in
// scripts/devcluster: a Kubernetes control plane that simulates pods. A cluster starts in
// seconds, and ends with the test process, even if that is killed.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// ReuseEnv is an environment variable with the directory of a cluster that "devcluster up" has
// started. If it is set, Shared uses that cluster, and does not stop it.
const ReuseEnv = "DEVCLUSTER_KUBECONFIG_DIR"

// startTimeout is the timeout for starting a cluster. It is so long because the first start on
// a machine builds Kubernetes.
const startTimeout = 30 * time.Minute

// Cluster is a running cluster.
type Cluster struct {
	dir     string
	binDir  string
	config  *rest.Config
	client  kubernetes.Interface
	process *process
	audit   auditLog
}

// Options configure the cluster to start.
type Options struct {
	// Dir is the directory of the cluster. The default is a temporary directory, which is
	// deleted with the cluster.
	Dir string
}

// New starts a cluster for one test. It is stopped at the end of the test.
func New(tb testing.TB, opts Options) *Cluster {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), startTimeout)
	defer cancel()
	c, err := start(ctx, opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.stop(); err != nil {
			tb.Error(err)
		}
	})
	return c
}

// start starts a cluster. It runs until stop is called or this process ends.
func start(ctx context.Context, opts Options) (_ *Cluster, err error) {
	command, err := buildCommand(ctx)
	if err != nil {
		return nil, err
	}
	var args []string
	if opts.Dir == "" {
		if opts.Dir, err = os.MkdirTemp("", "devcluster-"); err != nil {
			return nil, fmt.Errorf("make folder for the cluster: %w", err)
		}
		args = append(args, "--remove-dir")
	}
	p, err := startProcess(ctx, command, opts.Dir, args...)
	if err != nil {
		return nil, err
	}
	c, err := open(opts.Dir)
	if err != nil {
		return nil, errors.Join(err, p.stop())
	}
	c.process = p
	return c, nil
}

// open returns the running cluster whose directory is dir.
func open(dir string) (*Cluster, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find folder of the cluster: %w", err)
	}
	c := &Cluster{dir: dir}
	c.audit.path = c.AuditLog()
	binDir, err := os.ReadFile(filepath.Join(dir, "binaries"))
	if err != nil {
		return nil, fmt.Errorf("no cluster in %s: %w", dir, err)
	}
	c.binDir = strings.TrimSpace(string(binDir))
	if c.config, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig()); err != nil {
		return nil, fmt.Errorf("no cluster is ready in %s: %w", dir, err)
	}
	// The test's own requests must not be throttled.
	c.config.QPS = -1
	c.config.UserAgent = "cluster-test"
	if c.client, err = kubernetes.NewForConfig(c.config); err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	return c, nil
}

// stop stops the cluster, and returns when all its processes have ended.
func (c *Cluster) stop() error {
	if c.process == nil {
		return nil
	}
	return c.process.stop()
}

// Dir returns the absolute path of the cluster's directory.
func (c *Cluster) Dir() string { return c.dir }

// Kubeconfig returns the path of a kubeconfig whose user has all permissions.
func (c *Cluster) Kubeconfig() string { return filepath.Join(c.dir, "kubeconfig") }

// AuditLog returns the path of the API server's audit log. Use Audit to read it.
func (c *Cluster) AuditLog() string { return filepath.Join(c.dir, "audit.log") }

// Kubectl returns the path of a kubectl of the cluster's version.
func (c *Cluster) Kubectl() string { return filepath.Join(c.binDir, "kubectl") }

// Config returns a new client configuration without a rate limit, which the caller can change.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.config) }

// Client returns a client with all permissions.
func (c *Cluster) Client() kubernetes.Interface { return c.client }
