// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ordered-helm/helm/internal/httpretry"
)

// RetryRequests makes the clients that get their configuration from getter retry requests
// to which the API server does not respond. Operations retry their own requests without it,
// but not those of Helm's release storage. Call RetryRequests once, before getter is used.
// It does nothing if getter is not a *genericclioptions.ConfigFlags (docs/reliability.md,
// "When the API server is unavailable").
func RetryRequests(getter genericclioptions.RESTClientGetter) { httpretry.WrapClients(getter) }

// Persevere does the same as RetryRequests. New programs should call RetryRequests.
func Persevere(getter genericclioptions.RESTClientGetter) { RetryRequests(getter) }
