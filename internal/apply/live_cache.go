// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"slices"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/object"
)

// maxLiveAge is how long the live objects in the cache count, as long as nothing was
// written.
const maxLiveAge = 5 * time.Second

// liveCache has the live objects of all nodes as they were read at one time, so that nodes
// without changes are compared after one read. It is valid until the applier writes
// something: what a node depends on may change the objects of the node.
type liveCache struct {
	applier *Applier
	// all lists the objects of all nodes.
	all func() kube.ResourceList

	mu   sync.Mutex
	read time.Time
	// unused are the objects that were read and that nobody has asked for since, live
	// those of them that exist.
	unused map[*object.Info]bool
	live   map[*object.Info]*unstructured.Unstructured
}

// CacheLive has ApplyNode read the objects of all nodes at once, as long as nothing was
// written.
func (a *Applier) CacheLive(all func() kube.ResourceList) { a.cache.all = all }

// get reads the live state of the objects of a node.
func (c *liveCache) get(ctx context.Context, list kube.ResourceList) (map[*object.Info]*unstructured.Unstructured, error) {
	if c.all == nil || c.applier.markWritten() {
		return c.applier.Cluster.Live(ctx, list)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unused == nil || time.Since(c.read) > maxLiveAge {
		c.refresh(ctx)
	}
	if c.applier.markWritten() || slices.ContainsFunc(list, func(info *object.Info) bool { return !c.unused[info] }) {
		return c.applier.Cluster.Live(ctx, list)
	}
	live := make(map[*object.Info]*unstructured.Unstructured, len(list))
	for _, info := range list {
		if found := c.live[info]; found != nil {
			live[info] = found
		}
		delete(c.unused, info)
		delete(c.live, info)
	}
	return live, nil
}

// refresh reads all objects that may exist. If that fails, each node reads its own: an
// object that cannot be read concerns its node only. The caller holds mu.
func (c *liveCache) refresh(ctx context.Context) {
	var all kube.ResourceList
	for _, info := range c.all() {
		if !c.applier.IsAbsent(info) {
			all = append(all, info)
		}
	}
	c.read = time.Now()
	live, err := c.applier.Cluster.Live(ctx, all)
	if err != nil {
		all, live = nil, nil
	}
	c.live, c.unused = live, make(map[*object.Info]bool, len(all))
	for _, info := range all {
		c.unused[info] = true
	}
}
