// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"net/http"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"

	"github.com/ordered-helm/helm/internal/httpretry"
)

// RetryRequests makes all requests of a Kubernetes client retry if the server does not answer.
// getter is where the client gets its configuration. Without RetryRequests, operations retry
// all requests except those of Helm's release storage. Call it once, before getter is used.
// It does nothing if getter is not a *genericclioptions.ConfigFlags (docs/reliability.md,
// "When the API server is unavailable").
func RetryRequests(getter genericclioptions.RESTClientGetter) {
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

// Persevere is another name of RetryRequests.
func Persevere(getter genericclioptions.RESTClientGetter) { RetryRequests(getter) }
