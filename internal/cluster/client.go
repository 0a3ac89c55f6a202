// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster connects to a Kubernetes cluster, builds objects from manifests, finds
// out which kinds the cluster serves, and reads objects. Its requests are canceled when the
// context of the caller is done. Package objectwriter sends the requests that change
// objects, and package httpretry retries requests.
package cluster

import (
	"helm.sh/helm/v3/pkg/kube"
)

// Client builds the objects of a release from manifests, finds out whether the cluster
// serves their kinds, and reads their current states. There is a constructor for each sort
// of Kubernetes client that an operation can have: New for Helm's own client (type
// kube.Client), NewCustom for a client that was set by a program that embeds Helm, and
// NewWithoutCluster for a client that has no cluster, such as a fake.
type Client struct {
	Builder
	Discovery
	Reader
}

// New returns a Client that sends all requests over c. It calls Helm's Kubernetes client
// only to build manifests that the faster code of this package does not support.
func New(helm *kube.Client, c *Connection) *Client {
	return &Client{Builder: newDirectBuilder(helm, c), Discovery: c.discoverer, Reader: c.reader}
}

// NewCustom returns a Client that builds objects with a custom Kubernetes client, and sends
// all other requests over c.
func NewCustom(client kube.Interface, c *Connection) *Client {
	return &Client{Builder: &delegatingBuilder{client: client, discovery: c.discoverer}, Discovery: c.discoverer, Reader: c.reader}
}

// NewWithoutCluster returns a Client that builds objects with a Kubernetes client, but sends
// no requests, because there is no cluster.
func NewWithoutCluster(client kube.Interface) *Client {
	return &Client{Builder: &delegatingBuilder{client: client, discovery: discoveryWithoutCluster{}}, Discovery: discoveryWithoutCluster{}, Reader: readerWithoutCluster{}}
}
