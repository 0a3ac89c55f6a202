// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"slices"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// sightLasts is how long a look at the cluster counts, as long as nothing was written.
const sightLasts = 5 * time.Second

// sight is what a rollout has seen of all its objects at one time, so that as many
// nodes as have nothing to change are compared after one look. It counts until the
// rollout writes something: what a node depends on may change the node's own objects.
type sight struct {
	mu    sync.Mutex
	taken time.Time
	// seen are the objects that were looked at and that nobody has asked for since,
	// live those of them that are there.
	seen map[*kubeInfo]bool
	live map[*kubeInfo]*unstructured.Unstructured
}

// look reads the present state of objects of a node.
func (r *rollout) look(ctx context.Context, list kube.ResourceList) (map[*kubeInfo]*unstructured.Unstructured, error) {
	if r.whole() || r.wrote.Load() {
		return r.cluster.Live(ctx, list)
	}
	s := &r.sight
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil || time.Since(s.taken) > sightLasts {
		r.lookAround(ctx)
	}
	if r.wrote.Load() || slices.ContainsFunc(list, func(info *kubeInfo) bool { return !s.seen[info] }) {
		return r.cluster.Live(ctx, list)
	}
	live := make(map[*kubeInfo]*unstructured.Unstructured, len(list))
	for _, info := range list {
		if object := s.live[info]; object != nil {
			live[info] = object
		}
		delete(s.seen, info)
		delete(s.live, info)
	}
	return live, nil
}

// lookAround looks at all objects that may be there. If it fails, each node looks at its
// own: one that cannot be read is the concern of its node. The caller holds the sight's
// mu.
func (r *rollout) lookAround(ctx context.Context) {
	var all kube.ResourceList
	for _, info := range r.all {
		if !r.isAbsent(info) {
			all = append(all, info)
		}
	}
	s := &r.sight
	s.taken = time.Now()
	live, err := r.cluster.Live(ctx, all)
	if err != nil {
		all, live = nil, nil
	}
	s.live, s.seen = live, make(map[*kubeInfo]bool, len(all))
	for _, info := range all {
		s.seen[info] = true
	}
}
