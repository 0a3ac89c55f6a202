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

// WithCertFile sets the file with the client's certificate.
func WithCertFile(certFile string) RegistryLoginOpt { return helmaction.WithCertFile(certFile) }

// WithKeyFile sets the file with the key of the client's certificate.
func WithKeyFile(keyFile string) RegistryLoginOpt { return helmaction.WithKeyFile(keyFile) }

// WithCAFile sets the file with the certificate authorities that verify the registry's
// certificate.
func WithCAFile(caFile string) RegistryLoginOpt { return helmaction.WithCAFile(caFile) }

// WithInsecure sets whether to accept any certificate from the registry.
func WithInsecure(insecure bool) RegistryLoginOpt { return helmaction.WithInsecure(insecure) }

// WithPlainHTTPLogin sets whether to use HTTP instead of HTTPS.
func WithPlainHTTPLogin(isPlain bool) RegistryLoginOpt { return helmaction.WithPlainHTTPLogin(isPlain) }
