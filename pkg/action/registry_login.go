// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	helmaction "helm.sh/helm/v3/pkg/action"
)

type (
	// RegistryLogin logs in to an OCI registry (helm registry login). It is Helm's action.
	RegistryLogin = helmaction.RegistryLogin
	// RegistryLoginOpt is an option for RegistryLogin.Run. It is Helm's type.
	RegistryLoginOpt = helmaction.RegistryLoginOpt
	// RegistryLogout logs out of an OCI registry (helm registry logout). It is Helm's
	// action.
	RegistryLogout = helmaction.RegistryLogout
)

// NewRegistryLogin returns a RegistryLogin with Helm's defaults.
func NewRegistryLogin(cfg *Configuration) *RegistryLogin { return helmaction.NewRegistryLogin(cfg) }

// NewRegistryLogout returns a RegistryLogout with Helm's defaults.
func NewRegistryLogout(cfg *Configuration) *RegistryLogout { return helmaction.NewRegistryLogout(cfg) }

// WithCertFile sets the file with the client's certificate for a RegistryLogin.
func WithCertFile(certFile string) RegistryLoginOpt { return helmaction.WithCertFile(certFile) }

// WithKeyFile sets the file with the key of the client's certificate for a RegistryLogin.
func WithKeyFile(keyFile string) RegistryLoginOpt { return helmaction.WithKeyFile(keyFile) }

// WithCAFile sets the file with the certificate authorities that verify the registry's
// certificate for a RegistryLogin.
func WithCAFile(caFile string) RegistryLoginOpt { return helmaction.WithCAFile(caFile) }

// WithInsecure sets whether a RegistryLogin accepts any certificate from the registry.
func WithInsecure(insecure bool) RegistryLoginOpt { return helmaction.WithInsecure(insecure) }

// WithPlainHTTPLogin sets whether a RegistryLogin uses HTTP instead of HTTPS.
func WithPlainHTTPLogin(isPlain bool) RegistryLoginOpt { return helmaction.WithPlainHTTPLogin(isPlain) }
