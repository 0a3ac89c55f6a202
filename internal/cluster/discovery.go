// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Discovery tells which kinds the cluster serves. Without a cluster, every kind counts as
// served, but its API resource is unknown.
type Discovery interface {
	// Mapping returns the API resource of a kind. It returns nil if the cluster does not
	// serve the kind, or if there is no cluster. It caches the result.
	Mapping(apiVersion, kind string) (*meta.RESTMapping, error)
	// IsUnknownKind reports whether a kind is not served by the cluster in an API version.
	IsUnknownKind(apiVersion, kind string) (bool, error)
	// AwaitKinds repeats discovery until the cluster serves all kinds, for at most
	// discoveryTimeout. It returns no error if a kind is still missing then; the error
	// occurs when an object of that kind is built.
	AwaitKinds(ctx context.Context, kinds []schema.GroupVersionKind) error
}

// Timing of AwaitKinds. After a CRD is established, it takes some time until discovery
// returns its kind. On a server under load, this can be seconds.
const (
	discoveryTimeout         = 10 * time.Second
	initialDiscoveryInterval = 50 * time.Millisecond
	maxDiscoveryInterval     = time.Second
)

// discoverer is the Discovery of a cluster.
type discoverer struct {
	getter Getter

	mu sync.Mutex
	// mapper and mappings cache the results of discovery. A kind that the cluster does not
	// serve has a nil mapping.
	mapper   meta.RESTMapper
	mappings map[schema.GroupVersionKind]*meta.RESTMapping
}

// Mapping implements Discovery.
func (d *discoverer) Mapping(apiVersion, kind string) (*meta.RESTMapping, error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	gvk := gv.WithKind(kind)
	if mapping, cached := d.mappings[gvk]; cached {
		return mapping, nil
	}
	if d.mapper == nil {
		if d.mapper, err = d.getter.ToRESTMapper(); err != nil {
			return nil, err
		}
		d.mappings = map[schema.GroupVersionKind]*meta.RESTMapping{}
	}
	mapping, err := d.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil && !meta.IsNoMatchError(err) {
		return nil, err
	}
	if err != nil {
		mapping = nil
	}
	d.mappings[gvk] = mapping
	return mapping, nil
}

// IsUnknownKind implements Discovery.
func (d *discoverer) IsUnknownKind(apiVersion, kind string) (bool, error) {
	mapping, err := d.Mapping(apiVersion, kind)
	return err == nil && mapping == nil, err
}

// AwaitKinds implements Discovery.
func (d *discoverer) AwaitKinds(ctx context.Context, kinds []schema.GroupVersionKind) error {
	waiting, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	for interval := initialDiscoveryInterval; ; interval = min(2*interval, maxDiscoveryInterval) {
		if err := d.invalidate(); err != nil {
			return err
		}
		served, err := d.servesAll(kinds)
		if err != nil || served {
			return err
		}
		select {
		case <-waiting.Done():
			return ctx.Err()
		case <-time.After(interval):
		}
	}
}

func (d *discoverer) servesAll(kinds []schema.GroupVersionKind) (bool, error) {
	for _, kind := range kinds {
		mapping, err := d.Mapping(kind.GroupVersion().String(), kind.Kind)
		if err != nil || mapping == nil {
			return false, err
		}
	}
	return true, nil
}

// invalidate clears the cached results of discovery.
func (d *discoverer) invalidate() error {
	client, err := d.getter.ToDiscoveryClient()
	if err != nil {
		return err
	}
	if client != nil {
		client.Invalidate()
	}
	mapper, err := d.getter.ToRESTMapper()
	if err != nil {
		return err
	}
	meta.MaybeResetRESTMapper(mapper)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mapper, d.mappings = nil, nil
	return nil
}

// discoveryWithoutCluster is the Discovery for a client without a cluster.
type discoveryWithoutCluster struct{}

// Mapping implements Discovery.
func (discoveryWithoutCluster) Mapping(string, string) (*meta.RESTMapping, error) { return nil, nil }

// IsUnknownKind implements Discovery.
func (discoveryWithoutCluster) IsUnknownKind(string, string) (bool, error) { return false, nil }

// AwaitKinds implements Discovery.
func (discoveryWithoutCluster) AwaitKinds(context.Context, []schema.GroupVersionKind) error {
	return nil
}
