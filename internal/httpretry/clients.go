// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package httpretry

import (
	"net/http"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
)

// WrapClients makes the clients that get their configuration from getter retry requests to which
// the API server does not respond. It does nothing if getter is not a
// *genericclioptions.ConfigFlags.
func WrapClients(getter genericclioptions.RESTClientGetter) {
	flags, ok := getter.(*genericclioptions.ConfigFlags)
	if !ok {
		return
	}
	wrapBefore, server := flags.WrapConfigFn, new(ServerState)
	flags.WrapConfigFn = func(config *rest.Config) *rest.Config {
		if wrapBefore != nil {
			config = wrapBefore(config)
		}
		config.Wrap(func(rt http.RoundTripper) http.RoundTripper {
			return &Transport{Base: rt, ServerState: server}
		})
		return config
	}
}
