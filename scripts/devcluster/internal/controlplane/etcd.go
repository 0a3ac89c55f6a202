// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/ordered-helm/helm/scripts/devcluster/internal/binaries"
	"github.com/ordered-helm/helm/scripts/devcluster/internal/process"
)

// startEtcd starts etcd and returns its URL.
func (c *ControlPlane) startEtcd(ctx context.Context) (string, error) {
	client, err := c.etcdHTTPClient()
	if err != nil {
		return "", err
	}
	defer client.CloseIdleConnections()
	ports, err := c.startService(ctx, service{
		ports: 2,
		spec:  c.etcdSpec,
		ready: func(ctx context.Context, ports []int) error {
			return get(ctx, client, localURL(ports[0])+"/health")
		},
	})
	if err != nil {
		return "", err
	}
	return localURL(ports[0]), nil
}

func (c *ControlPlane) etcdSpec(ports []int) (process.Spec, error) {
	const name = "devcluster"
	// The data of an earlier attempt contain a member with other ports.
	if err := os.RemoveAll(c.dir.Etcd()); err != nil {
		return process.Spec{}, fmt.Errorf("empty the directory of etcd: %w", err)
	}
	client, peer := localURL(ports[0]), localURL(ports[1])
	ca, server := c.credentials.etcd.CertFile(), c.credentials.etcdServer
	return c.spec(binaries.Etcd,
		"--name="+name,
		"--data-dir="+c.dir.Etcd(),
		"--listen-client-urls="+client,
		"--advertise-client-urls="+client,
		"--listen-peer-urls="+peer,
		"--initial-advertise-peer-urls="+peer,
		"--initial-cluster="+name+"="+peer,
		"--client-cert-auth",
		"--trusted-ca-file="+ca,
		"--cert-file="+server.CertFile,
		"--key-file="+server.KeyFile,
		"--peer-client-cert-auth",
		"--peer-trusted-ca-file="+ca,
		"--peer-cert-file="+server.CertFile,
		"--peer-key-file="+server.KeyFile,
		// The data need not survive a crash of the machine.
		"--unsafe-no-fsync",
		"--quota-backend-bytes=8589934592",
		"--log-level=warn",
	), nil
}

func (c *ControlPlane) etcdHTTPClient() (*http.Client, error) {
	pair := c.credentials.etcdClient
	cert, err := tls.X509KeyPair(pair.CertPEM, pair.KeyPEM)
	if err != nil {
		return nil, fmt.Errorf("load etcd's client certificate: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(c.credentials.etcd.PEM()) {
		return nil, errors.New("load etcd's authority: no certificate found")
	}
	return &http.Client{
		Timeout: 2 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{
			RootCAs:      roots,
			Certificates: []tls.Certificate{cert},
			MinVersion:   tls.VersionTLS12,
		}},
	}, nil
}

// get returns an error unless the response for url has status 200.
func get(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("request %s: %w", url, err)
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("request %s: %w", url, err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("request %s: unexpected answer %s", url, response.Status)
	}
	return nil
}

func localURL(port int) string { return fmt.Sprintf("https://%s:%d", localhost, port) }
