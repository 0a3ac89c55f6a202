// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// getter provides a Connection to the actions of Helm.
type getter struct{ connection *Connection }

var _ genericclioptions.RESTClientGetter = (*getter)(nil)

func (g *getter) ToRESTConfig() (*rest.Config, error) {
	return rest.CopyConfig(g.connection.config), nil
}

func (g *getter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	return g.connection.kinds.discovery, nil
}

func (g *getter) ToRESTMapper() (meta.RESTMapper, error) { return g.connection.kinds.mapper, nil }

func (g *getter) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	return clientConfig{g.connection}
}

// clientConfig is a client configuration that comes from no file.
type clientConfig struct{ connection *Connection }

func (c clientConfig) RawConfig() (clientcmdapi.Config, error) { return *clientcmdapi.NewConfig(), nil }

func (c clientConfig) ClientConfig() (*rest.Config, error) {
	return rest.CopyConfig(c.connection.config), nil
}

func (c clientConfig) Namespace() (string, bool, error) { return c.connection.namespace, true, nil }

func (c clientConfig) ConfigAccess() clientcmd.ConfigAccess { return nil }
