// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"fmt"
	"net/http"

	"github.com/spf13/pflag"
	"helm.sh/helm/v3/pkg/registry"

	"github.com/ordered-helm/helm/internal/tlsfiles"
	"github.com/ordered-helm/helm/pkg/action"
)

// registryOptions holds the flags that say how to connect to an OCI registry.
type registryOptions struct {
	certFile  string
	keyFile   string
	caFile    string
	insecure  bool // accept any certificate
	plainHTTP bool
	username  string
	password  string
}

// registryClientFor returns a registry client that uses the TLS files and credentials from the
// flags that select a chart.
func (a *app) registryClientFor(c *action.ChartPathOptions) (*registry.Client, error) {
	return a.registryClient(registryOptions{
		certFile:  c.CertFile,
		keyFile:   c.KeyFile,
		caFile:    c.CaFile,
		insecure:  c.InsecureSkipTLSverify,
		plainHTTP: c.PlainHTTP,
		username:  c.Username,
		password:  c.Password,
	})
}

// setRegistry passes the client that registryClientFor returns to set, which is the method
// SetRegistryClient of an action.
func (a *app) setRegistry(c *action.ChartPathOptions, set func(*registry.Client)) error {
	client, err := a.registryClientFor(c)
	if err == nil {
		set(client)
	}
	return err
}

// addRegistryFlags adds the flags of commands that download from or upload to registries.
func addRegistryFlags(f *pflag.FlagSet, o *registryOptions) {
	addRegistryTLSFlags(f, o)
	f.BoolVar(&o.insecure, "insecure-skip-tls-verify", false, "skip TLS certificate checks for the registry (insecure)")
	f.StringVar(&o.username, "username", "", "user name for the registry")
	f.StringVar(&o.password, "password", "", "password for the registry")
}

// addRegistryTLSFlags adds the TLS flags of all commands that connect to registries.
func addRegistryTLSFlags(f *pflag.FlagSet, o *registryOptions) {
	f.StringVar(&o.certFile, "cert-file", "", "client certificate for the registry")
	f.StringVar(&o.keyFile, "key-file", "", "key of the client certificate")
	f.StringVar(&o.caFile, "ca-file", "", "CA bundle for verifying the certificate of the registry")
	f.BoolVar(&o.plainHTTP, "plain-http", false, "connect to the registry over plain HTTP")
}

// hasTLSSettings reports whether the options require TLS settings other than the default
// ones. If so, plainHTTP has no effect. A certificate without its key, or a key without its
// certificate, is ignored.
func (o registryOptions) hasTLSSettings() bool {
	return o.certFile != "" && o.keyFile != "" || o.caFile != "" || o.insecure
}

// tlsConfig loads the certificates and keys in the options.
func (o registryOptions) tlsConfig() (*tls.Config, error) {
	return tlsfiles.Load(tlsfiles.Files{Cert: o.certFile, Key: o.keyFile, CA: o.caFile, Insecure: o.insecure})
}

// registryClient is like newRegistryClient, with the error message of Helm's commands.
func (a *app) registryClient(o registryOptions) (*registry.Client, error) {
	client, err := a.newRegistryClient(o)
	if err != nil {
		return nil, fmt.Errorf("missing registry client: %w", err)
	}
	return client, nil
}

// newRegistryClient returns a registry client with the given options.
func (a *app) newRegistryClient(o registryOptions) (*registry.Client, error) {
	options := []registry.ClientOption{
		registry.ClientOptDebug(a.settings.Debug),
		registry.ClientOptEnableCache(true),
		registry.ClientOptWriter(a.errOut),
		registry.ClientOptCredentialsFile(a.settings.RegistryConfig),
		registry.ClientOptBasicAuth(o.username, o.password),
	}
	switch {
	case o.hasTLSSettings():
		config, err := o.tlsConfig()
		if err != nil {
			return nil, err
		}
		options = append(options, registry.ClientOptHTTPClient(&http.Client{
			Transport: &http.Transport{TLSClientConfig: config, Proxy: http.ProxyFromEnvironment},
		}))
	case o.plainHTTP:
		options = append(options, registry.ClientOptPlainHTTP())
	}
	return registry.NewClient(options...)
}
