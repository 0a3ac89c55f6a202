// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"net/http"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"

	"github.com/ordered-helm/helm/internal/httpretry"
)

// Persevere makes all requests through the command line's getter be sent again if they get
// no answer. This includes the requests of Helm's release storage; operations already do
// this for all other requests. Call it once, before the getter is used. It does nothing if
// the getter is not a *genericclioptions.ConfigFlags (docs/reliability.md, "When the API
// server is in trouble").
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
