// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"net/http"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"

	"github.com/ordered-helm/helm/internal/httpretry"
)

// Persevere has all requests by a getter of the command line sent again that get no answer,
// those of the storage of releases too, which Helm makes by itself; operations do so of
// themselves with all others. It is to be called once, before the getter is used. Getters
// of another make are left as they are (docs/reliability.md, "When the API server is in
// trouble").
func Persevere(getter genericclioptions.RESTClientGetter) {
	flags, ok := getter.(*genericclioptions.ConfigFlags)
	if !ok {
		return
	}
	before, server := flags.WrapConfigFn, new(httpretry.Server)
	flags.WrapConfigFn = func(config *rest.Config) *rest.Config {
		if before != nil {
			config = before(config)
		}
		config.Wrap(func(rt http.RoundTripper) http.RoundTripper { return &httpretry.Transport{Base: rt, Server: server} })
		return config
	}
}
