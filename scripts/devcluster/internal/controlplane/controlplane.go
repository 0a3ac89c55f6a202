// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package controlplane runs the processes of a Kubernetes control plane, and
// kwok, which keeps its nodes alive.
package controlplane

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/ordered-helm/helm/scripts/devcluster/internal/pki"
	"github.com/ordered-helm/helm/scripts/devcluster/internal/process"
	"github.com/ordered-helm/helm/scripts/devcluster/internal/statedir"
)

// stopGrace is the time after SIGTERM within which a process must end before it is killed.
const stopGrace = 5 * time.Second

// Options configure a control plane.
type Options struct {
	// Dir is the cluster's directory, which is already claimed and reset.
	Dir statedir.Dir
	// BinDir is the directory of the binaries.
	BinDir string
	// Inherit is a file that every process inherits and keeps open, such as a lock. It can be
	// nil.
	Inherit *os.File
}

// ControlPlane is a running control plane.
type ControlPlane struct {
	dir         statedir.Dir
	binDir      string
	inherit     *os.File
	spawner     *process.Spawner
	credentials *credentials
	server      string
	// processes are in start order: etcd, the API server, and the processes that only use
	// the API server.
	processes []*process.Process
}

// Start starts a control plane and returns when its API server is ready. The other
// processes may still be starting. If Start returns an error, nothing is running.
func Start(ctx context.Context, opts Options) (*ControlPlane, error) {
	credentials, err := newCredentials(opts.Dir)
	if err != nil {
		return nil, err
	}
	c := &ControlPlane{
		dir:         opts.Dir,
		binDir:      opts.BinDir,
		inherit:     opts.Inherit,
		spawner:     process.NewSpawner(),
		credentials: credentials,
	}
	if err := c.start(ctx); err != nil {
		c.Stop(ctx)
		return nil, err
	}
	return c, nil
}

func (c *ControlPlane) start(ctx context.Context) error {
	etcd, err := c.startEtcd(ctx)
	if err != nil {
		return err
	}
	if c.server, err = c.startAPIServer(ctx, etcd); err != nil {
		return err
	}
	for _, spec := range []func(server string) (process.Spec, error){
		c.controllerManagerSpec, c.schedulerSpec, c.kwokSpec,
	} {
		spec, err := spec(c.server)
		if err != nil {
			return err
		}
		p, err := c.spawn(ctx, spec)
		if err != nil {
			return err
		}
		c.processes = append(c.processes, p)
	}
	return nil
}

// Server is the URL of the API server.
func (c *ControlPlane) Server() string { return c.server }

// SupervisorConfig is the client configuration of the supervisor, which has all permissions
// and no client-side rate limiting.
func (c *ControlPlane) SupervisorConfig() *rest.Config {
	config := c.credentials.restConfig(c.server, c.credentials.supervisor)
	config.UserAgent = "devcluster"
	return config
}

// WriteAdminKubeconfig atomically writes the kubeconfig of the cluster's user to path.
func (c *ControlPlane) WriteAdminKubeconfig(path string) error {
	temporary := filepath.Join(c.dir.Config(), "admin.kubeconfig")
	if err := c.credentials.writeKubeconfig(temporary, c.server, AdminUser, c.credentials.admin); err != nil {
		return err
	}
	if err := os.Rename(temporary, path); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	return nil
}

// KubeletCertificate is the serving certificate of the kubelets. Their clients are signed
// by KubeletClientCA and have the name KubeletClientName.
func (c *ControlPlane) KubeletCertificate() pki.Pair { return c.credentials.kubeletServer }

// KubeletClientCA is the CA of the kubelets' clients, as PEM.
func (c *ControlPlane) KubeletClientCA() []byte { return c.credentials.cluster.PEM() }

// KubeletClientName is the common name of the only client of the kubelets.
func (c *ControlPlane) KubeletClientName() string { return kubeletClient }

// Processes are the running processes, in start order.
func (c *ControlPlane) Processes() []*process.Process { return c.processes }

// Watch waits until a process ends unexpectedly, and returns its error. It returns nil if ctx
// ends first.
func (c *ControlPlane) Watch(ctx context.Context) error {
	ended := make(chan *process.Process, len(c.processes))
	var watching sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	defer watching.Wait()
	defer cancel()
	for _, p := range c.processes {
		watching.Go(func() {
			select {
			case <-p.Done():
				ended <- p
			case <-ctx.Done():
			}
		})
	}
	select {
	case p := <-ended:
		return p.ExitError()
	case <-ctx.Done():
		return nil
	}
}

// Stop ends all processes, and returns when they have ended. It also works if ctx has ended.
// Each process ends before the processes that it depends on, because an API server without
// etcd takes long to exit.
func (c *ControlPlane) Stop(ctx context.Context) {
	served := min(len(c.processes), 2)
	c.stop(ctx, c.processes[served:])
	for i := served - 1; i >= 0; i-- {
		c.stop(ctx, c.processes[i:i+1])
	}
	c.spawner.Close()
}

func (c *ControlPlane) stop(ctx context.Context, processes []*process.Process) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
	defer cancel()
	var stopping sync.WaitGroup
	for _, p := range processes {
		stopping.Go(func() { p.Stop(ctx) })
	}
	stopping.Wait()
}

func (c *ControlPlane) spawn(ctx context.Context, spec process.Spec) (*process.Process, error) {
	return c.spawner.Start(ctx, spec)
}

// spec returns the Spec of the named binary with arguments.
func (c *ControlPlane) spec(name string, args ...string) process.Spec {
	return process.Spec{
		Name:    name,
		Path:    filepath.Join(c.binDir, name),
		Args:    args,
		Dir:     string(c.dir),
		LogPath: c.dir.Log(name),
		Inherit: c.inherit,
		// On test machines, CPU is scarcer than memory.
		Env: []string{"GOGC=300"},
	}
}
