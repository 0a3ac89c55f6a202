// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	helmaction "helm.sh/helm/v3/pkg/action"
)

type (
	// RegistryLogin is Helm's RegistryLogin.
	RegistryLogin = helmaction.RegistryLogin
	// RegistryLoginOpt is Helm's RegistryLoginOpt.
	RegistryLoginOpt = helmaction.RegistryLoginOpt
	// RegistryLogout is Helm's RegistryLogout.
	RegistryLogout = helmaction.RegistryLogout
)

// NewRegistryLogin returns Helm's RegistryLogin action.
func NewRegistryLogin(cfg *Configuration) *RegistryLogin { return helmaction.NewRegistryLogin(cfg) }

// NewRegistryLogout returns Helm's RegistryLogout action.
func NewRegistryLogout(cfg *Configuration) *RegistryLogout { return helmaction.NewRegistryLogout(cfg) }

// WithCertFile names the file with the certificate that the client shows.
func WithCertFile(certFile string) RegistryLoginOpt { return helmaction.WithCertFile(certFile) }

// WithKeyFile names the file with the key of the client's certificate.
func WithKeyFile(keyFile string) RegistryLoginOpt { return helmaction.WithKeyFile(keyFile) }

// WithCAFile names the file with the authorities that the registry's
// certificate is checked with.
func WithCAFile(caFile string) RegistryLoginOpt { return helmaction.WithCAFile(caFile) }

// WithInsecure says whether any certificate of the registry is taken.
func WithInsecure(insecure bool) RegistryLoginOpt { return helmaction.WithInsecure(insecure) }

// WithPlainHTTPLogin says whether the registry is spoken to over HTTP without
// TLS.
func WithPlainHTTPLogin(isPlain bool) RegistryLoginOpt { return helmaction.WithPlainHTTPLogin(isPlain) }
