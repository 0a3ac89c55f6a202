// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/http"

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
