// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster creates, changes and deletes slices of a release over Helm's
// Kubernetes client, and waits as Helm does, but for as long as the caller's
// context allows and not longer.
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

// Getter gives what is needed to talk to a cluster.
type Getter interface {
	ToRESTConfig() (*rest.Config, error)
	ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error)
	ToRESTMapper() (meta.RESTMapper, error)
}

// Client is a view of one cluster for one operation.
type Client struct {
	kube   kube.Interface
	getter Getter
	log    func(string, ...any)
	pace   *pace

	dynamic, observer once[dynamic.Interface]
	typed             once[kubernetes.Interface]
	metadata          once[metadata.Interface]
	stream            once[rest.Interface]
	target            once[string]
	resources         resourceClients
	schemas           schemas
	documents         documents

	// backend reads and writes objects.
	backend backend

	mu sync.Mutex
	// mapper and mappings keep what discovery said, until they are asked for anew;
	// a kind that the cluster does not know has nil.
	mapper   meta.RESTMapper
	mappings map[schema.GroupVersionKind]*meta.RESTMapping
}

// New returns a Client over Helm's. Without a getter there is no cluster but
// what the Helm client plays; waiting is then left to it.
func New(kc kube.Interface, getter Getter, log func(string, ...any)) *Client {
	if log == nil {
		log = func(string, ...any) {}
	}
	c := &Client{kube: kc, getter: getter, log: log, pace: newPace(), schemas: schemas{getter: getter}}
	if _, helms := kc.(*kube.Client); helms && getter != nil {
		c.backend = native{c}
	} else {
		c.backend = delegated{c}
	}
	return c
}

// Mapping says by which resource a kind is served; nil if the cluster does not
// know it, or there is none to ask. It asks once for each kind.
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
	if mapping, asked := c.mappings[gvk]; asked {
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

// refreshDiscovery forgets which kinds the cluster has, after a definition was
// added.
func (c *Client) refreshDiscovery() error {
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
