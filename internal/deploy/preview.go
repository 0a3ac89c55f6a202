// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"context"

	"helm.sh/helm/v3/pkg/kube"

	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/objectwriter"
	"github.com/ordered-helm/helm/internal/prune"
)

// Options are the options of the run.
func (r *Run) Options() Options { return r.options }

// Objects are the objects whose kinds the cluster knows.
func (r *Run) Objects() kube.ResourceList { return r.strategy.objects().all }

// IsAbsent reports whether an object was not in the cluster when FindExisting looked.
func (r *Run) IsAbsent(info *object.Info) bool { return r.strategy.objects().applier.IsAbsent(info) }

// Nodes lists the objects node by node, in the order in which they are deployed.
func (r *Run) Nodes() []NodeObjects { return r.strategy.nodes() }

// DryRun has the server say what Perform would do with the objects.
func (r *Run) DryRun(ctx context.Context) ([]objectwriter.DryRun, error) {
	return r.strategy.dryRun(ctx)
}

// FindObsolete calls visit with the objects that Perform would delete or keep although the
// release no longer has them, in its order.
func (r *Run) FindObsolete(ctx context.Context, visit func(node string, found *prune.Found)) error {
	p := r.strategy.pruner()
	if p == nil {
		return nil
	}
	return p.find(ctx, r.Objects(), visit)
}

// Close ends everything that still goes on. A run that is not performed must be closed.
func (r *Run) Close() { r.strategy.close() }
