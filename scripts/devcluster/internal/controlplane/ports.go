// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/ordered-helm/helm/scripts/devcluster/internal/process"
)

const (
	localhost    = "127.0.0.1"
	portAttempts = 5
)

// freePorts returns n ports that were free a moment ago.
func freePorts(ctx context.Context, n int) (ports []int, err error) {
	var config net.ListenConfig
	listeners := make([]net.Listener, 0, n)
	// The ports are kept open until all are found, so that no port is returned twice.
	defer func() {
		for _, listener := range listeners {
			err = errors.Join(err, listener.Close())
		}
	}()
	for range n {
		listener, err := config.Listen(ctx, "tcp", localhost+":0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		listeners = append(listeners, listener)
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// service describes a component that listens on ports.
type service struct {
	// ports is the number of ports that it needs.
	ports int
	// spec returns the Spec of the process for the given ports.
	spec func(ports []int) (process.Spec, error)
	// ready returns nil if the component responds on the given ports.
	ready func(ctx context.Context, ports []int) error
}

// startService starts s on free ports, and retries with other ports if another program has
// taken one of them. It returns when s is ready.
func (c *ControlPlane) startService(ctx context.Context, s service) ([]int, error) {
	for attempt := 1; ; attempt++ {
		ports, err := freePorts(ctx, s.ports)
		if err != nil {
			return nil, err
		}
		spec, err := s.spec(ports)
		if err != nil {
			return nil, err
		}
		p, err := c.spawn(ctx, spec)
		if err != nil {
			return nil, err
		}
		err = p.Await(ctx, func(ctx context.Context) error { return s.ready(ctx, ports) })
		if err == nil {
			c.processes = append(c.processes, p)
			return ports, nil
		}
		c.stop(ctx, []*process.Process{p})
		if attempt == portAttempts || !portTaken(err) {
			return nil, err
		}
	}
}

func portTaken(err error) bool {
	var exit *process.ExitError
	return errors.As(err, &exit) && strings.Contains(exit.LogTail, "address already in use")
}
