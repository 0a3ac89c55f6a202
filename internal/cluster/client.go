// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster connects to a Kubernetes cluster, builds objects from manifests, finds
// out which kinds the cluster serves, and reads objects. Requests end with the context of
// the caller. Package objectwriter sends the requests that change objects, and package
// httpretry retries requests.
package cluster

import (
	"helm.sh/helm/v3/pkg/kube"
)

// Client answers the questions of an operation about the objects of a release: how to build
// them from manifests, whether the cluster serves their kinds, and in which state they are.
// How it does so depends on the Kubernetes client of the operation. The constructors decide
// this: New is for Helm's own client, NewCustom for a client that a program which embeds
// Helm has set, and NewWithoutCluster for a client without a cluster, such as a fake.
type Client struct {
	Builder
	Kinds
	Reader
}

// New returns a Client that sends all requests over c. It calls Helm's Kubernetes client
// only to build manifests that this package does not support.
func New(helm *kube.Client, c *Connection) *Client {
	return &Client{Builder: newDirectBuilder(helm, c), Kinds: c.discoverer, Reader: c.reader}
}

// NewCustom returns a Client that builds objects with a custom Kubernetes client, and sends
// all other requests over c.
func NewCustom(client kube.Interface, c *Connection) *Client {
	return &Client{Builder: &delegatingBuilder{client: client, kinds: c.discoverer}, Kinds: c.discoverer, Reader: c.reader}
}

// NewWithoutCluster returns a Client that builds objects with a Kubernetes client and has
// no cluster to send requests to.
func NewWithoutCluster(client kube.Interface) *Client {
	return &Client{Builder: &delegatingBuilder{client: client, kinds: anyKind{}}, Kinds: anyKind{}, Reader: detachedReader{}}
}
