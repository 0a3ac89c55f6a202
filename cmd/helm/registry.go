// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/http"

	"github.com/spf13/pflag"
	"helm.sh/helm/v3/pkg/registry"

	"github.com/ordered-helm/helm/internal/tlsfiles"
	"github.com/ordered-helm/helm/pkg/action"
)

// registryOptions say how an OCI registry is reached and who asks.
type registryOptions struct {
	certFile  string
	keyFile   string
	caFile    string
	insecure  bool // take any certificate
	plainHTTP bool
	username  string
	password  string
}

func registryOptionsFrom(c *action.ChartPathOptions) registryOptions {
	return registryOptions{
		certFile:  c.CertFile,
		keyFile:   c.KeyFile,
		caFile:    c.CaFile,
		insecure:  c.InsecureSkipTLSverify,
		plainHTTP: c.PlainHTTP,
		username:  c.Username,
		password:  c.Password,
	}
}

// addRegistryFlags adds the flags of commands that speak to registries.
func addRegistryFlags(f *pflag.FlagSet, o *registryOptions) {
	addRegistryTLSFlags(f, o)
	f.BoolVar(&o.insecure, "insecure-skip-tls-verify", false, "take any certificate from the registry")
	f.StringVar(&o.username, "username", "", "user name for the registry")
	f.StringVar(&o.password, "password", "", "password for the registry")
}

// addRegistryTLSFlags adds those of them that logging in has under the same names.
func addRegistryTLSFlags(f *pflag.FlagSet, o *registryOptions) {
	f.StringVar(&o.certFile, "cert-file", "", "client certificate to show to the registry")
	f.StringVar(&o.keyFile, "key-file", "", "key of the client certificate")
	f.StringVar(&o.caFile, "ca-file", "", "certificate authorities that the registry's certificate is checked with")
	f.BoolVar(&o.plainHTTP, "plain-http", false, "speak to the registry over HTTP without TLS")
}

// files are the options that change how TLS is spoken. Plain HTTP is only in
// question when they do not.
func (o registryOptions) files() tlsfiles.Files {
	return tlsfiles.Files{Cert: o.certFile, Key: o.keyFile, CA: o.caFile, Insecure: o.insecure}
}

func (a *app) registryClient(o registryOptions) (*registry.Client, error) {
	options := []registry.ClientOption{
		registry.ClientOptDebug(a.settings.Debug),
		registry.ClientOptEnableCache(true),
		registry.ClientOptWriter(a.errOut),
		registry.ClientOptCredentialsFile(a.settings.RegistryConfig),
		registry.ClientOptBasicAuth(o.username, o.password),
	}
	switch {
	case o.files().Matter():
		config, err := o.files().Config()
		if err != nil {
			return nil, fmt.Errorf("can't create TLS config for client: %w", err)
		}
		options = append(options, registry.ClientOptHTTPClient(&http.Client{
			Transport: &http.Transport{TLSClientConfig: config, Proxy: http.ProxyFromEnvironment},
		}))
	case o.plainHTTP:
		options = append(options, registry.ClientOptPlainHTTP())
	}
	return registry.NewClient(options...)
}
