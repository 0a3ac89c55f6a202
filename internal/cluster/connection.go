// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// Getter provides what is needed to connect to a cluster. The field RESTClientGetter of
// Helm's action.Configuration implements it.
type Getter interface {
	ToRESTConfig() (*rest.Config, error)
	ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error)
	ToRESTMapper() (meta.RESTMapper, error)
}

// Connection is the access of one operation to a cluster. It creates clients and discovers
// kinds when they are first needed, and caches them. There is no Connection if the
// Kubernetes client of the operation has no cluster.
type Connection struct {
	*clientFactory
	*discoverer
	*reader
	log func(string, ...any)
}

// Connect returns a Connection to the cluster that getter selects. It sends no request. Log
// messages are passed to log, which can be nil.
func Connect(getter Getter, log func(string, ...any)) *Connection {
	if log == nil {
		log = func(string, ...any) {}
	}
	clients := &clientFactory{getter: getter, limiter: newConcurrencyLimiter()}
	kinds := &discoverer{getter: getter}
	return &Connection{clientFactory: clients, discoverer: kinds, reader: &reader{clients: clients, discovery: kinds}, log: log}
}

// Log writes to the log of the operation.
func (c *Connection) Log(format string, args ...any) { c.log(format, args...) }
