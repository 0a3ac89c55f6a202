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

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/object"
)

// maxLiveAge is the time after which the cached states are read again, even if the Applier
// has written nothing.
const maxLiveAge = 5 * time.Second

// liveCache caches the states that the objects of all nodes have in the cluster. It reads
// them at the same time, which takes fewer requests than reading the objects of each node.
// The cache is used until the Applier writes anything, because a change to the objects of
// one node can change the objects of other nodes.
type liveCache struct {
	cluster cluster.Reader
	// all are the objects of all nodes. If it is empty, nothing is cached.
	all kube.ResourceList
	// isAbsent is Applier.IsAbsent. isStale reports whether the Applier has written
	// anything.
	isAbsent func(*object.Info) bool
	isStale  func() bool

	mu   sync.Mutex
	read time.Time
	// unused are the objects whose cached states get has not returned yet. live contains
	// the states of those that exist.
	unused map[*object.Info]bool
	live   map[*object.Info]*unstructured.Unstructured
}

// get returns the states that the objects in list have in the cluster. It returns each
// cached state only once, and reads the objects again if the cache cannot be used.
func (c *liveCache) get(ctx context.Context, list kube.ResourceList) (map[*object.Info]*unstructured.Unstructured, error) {
	if len(c.all) == 0 || c.isStale() {
		return c.cluster.Live(ctx, list)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unused == nil || time.Since(c.read) > maxLiveAge {
		c.refresh(ctx)
	}
	if c.isStale() || slices.ContainsFunc(list, func(info *object.Info) bool { return !c.unused[info] }) {
		return c.cluster.Live(ctx, list)
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

// refresh reads all objects that may exist. If reading fails, it caches nothing: each node
// then reads its own objects, so that an object that cannot be read affects only its node.
// The caller must have locked mu.
func (c *liveCache) refresh(ctx context.Context) {
	var all kube.ResourceList
	for _, info := range c.all {
		if !c.isAbsent(info) {
			all = append(all, info)
		}
	}
	c.read = time.Now()
	live, err := c.cluster.Live(ctx, all)
	if err != nil {
		all, live = nil, nil
	}
	c.live, c.unused = live, make(map[*object.Info]bool, len(all))
	for _, info := range all {
		c.unused[info] = true
	}
}
