// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster connects to a Kubernetes cluster, builds objects from manifests, finds
// out which kinds the cluster serves, and reads objects. Requests end with the context of
// the caller. Package objectwriter sends the requests that change objects, and package
// httpretry retries requests.
package cluster

import (
	"sync"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// Getter provides what is necessary to connect to a cluster.
// genericclioptions.RESTClientGetter, which Helm's configuration has, implements it.
type Getter interface {
	ToRESTConfig() (*rest.Config, error)
	ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error)
	ToRESTMapper() (meta.RESTMapper, error)
}

// Client reads from the cluster of one operation. It creates clients and discovers kinds
// when they are first needed, and caches them.
type Client struct {
	kube    kube.Interface
	getter  Getter
	log     func(string, ...any)
	limiter *concurrencyLimiter

	dynamic, noRetry once[dynamic.Interface]
	typed            once[kubernetes.Interface]
	metadata         once[metadata.Interface]
	stream           once[rest.Interface]
	defaultNamespace once[string]
	resources        resourceClients
	schemas          schemas
	documents        documents

	backend backend

	mu sync.Mutex
	// mapper and mappings cache the results of discovery. The mapping of a kind that the
	// cluster does not serve is nil.
	mapper   meta.RESTMapper
	mappings map[schema.GroupVersionKind]*meta.RESTMapping
}

// New returns a Client for a Kubernetes client. If getter is nil, there is no cluster to
// send requests to: everything is then delegated to kc, for example to a fake client. log
// receives the messages of the operation; it can be nil.
func New(kc kube.Interface, getter Getter, log func(string, ...any)) *Client {
	if log == nil {
		log = func(string, ...any) {}
	}
	c := &Client{kube: kc, getter: getter, log: log, limiter: newConcurrencyLimiter(), schemas: schemas{getter: getter}}
	if _, isHelm := kc.(*kube.Client); isHelm && getter != nil {
		c.backend = native{c}
	} else {
		c.backend = delegated{c}
	}
	return c
}

// Log writes to the log of the operation.
func (c *Client) Log(format string, args ...any) { c.log(format, args...) }

// Mapping returns the API resource of a kind. It returns nil if the cluster does not serve
// the kind, or if there is no cluster. It caches the result.
func (c *Client) Mapping(apiVersion, kind string) (*meta.RESTMapping, error) {
	if c.getter == nil {
		return nil, nil
	}
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	gvk := gv.WithKind(kind)
	if mapping, cached := c.mappings[gvk]; cached {
		return mapping, nil
	}
	if c.mapper == nil {
		if c.mapper, err = c.getter.ToRESTMapper(); err != nil {
			return nil, err
		}
		c.mappings = map[schema.GroupVersionKind]*meta.RESTMapping{}
	}
	mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil && !meta.IsNoMatchError(err) {
		return nil, err
	}
	if err != nil {
		mapping = nil
	}
	c.mappings[gvk] = mapping
	return mapping, nil
}

// invalidateDiscovery clears the cached kinds of the cluster. It is called when CRDs were
// added.
func (c *Client) invalidateDiscovery() error {
	if c.getter == nil {
		return nil
	}
	dc, err := c.getter.ToDiscoveryClient()
	if err != nil {
		return err
	}
	if dc != nil {
		dc.Invalidate()
	}
	mapper, err := c.getter.ToRESTMapper()
	if err != nil {
		return err
	}
	meta.MaybeResetRESTMapper(mapper)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mapper, c.mappings = nil, nil
	return nil
}
