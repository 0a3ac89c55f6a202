// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"context"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/earlierjobs"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/objectwriter"
	"github.com/ordered-helm/helm/internal/prune"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// Options returns the Options of the RunConfig.
func (r *Run) Options() Options { return r.options }

// Plan returns the plan by which the release is deployed; nil without an order.
func (r *Run) Plan() *sequencer.Plan { return r.plan }

// Objects returns the objects of the new revision whose kinds the cluster knows.
func (r *Run) Objects() kube.ResourceList { return r.strategy.objects().all }

// IsAbsent reports whether an object did not exist in the cluster when FindExisting looked
// for it, and no earlier revision declares it.
func (r *Run) IsAbsent(info *object.Info) bool { return r.strategy.objects().applier.IsAbsent(info) }

// MustRecreate reports whether Perform deletes an object that exists, and creates it again,
// because it is a Job that has failed. live is its state in the cluster, or nil if it does not
// exist.
func (r *Run) MustRecreate(info *object.Info, live *unstructured.Unstructured) bool {
	return r.guardsJobs() && earlierjobs.MustRecreate(info, live)
}

// Nodes returns the objects of each node, in the order in which they are deployed.
func (r *Run) Nodes() []NodeObjects { return r.strategy.nodes() }

// DryRun asks the server, with dry-run requests, how Perform would change the objects.
func (r *Run) DryRun(ctx context.Context) ([]objectwriter.DryRunResult, error) {
	r.setOwner()
	return r.strategy.dryRun(ctx)
}

// FindObsolete calls visit for each node of the earlier revisions, in the order in which
// Perform deletes the nodes. found contains the obsolete objects of the node: those that
// Perform would delete, and those that it would keep. What managed hooks have left comes last.
func (r *Run) FindObsolete(ctx context.Context, visit func(node string, found *prune.FoundObjects)) error {
	if p := r.strategy.pruner(); p != nil {
		if err := p.find(ctx, r.Objects(), visit); err != nil {
			return err
		}
	}
	return r.findHookObjects(ctx, visit)
}

// Close stops everything that is still running in the background. The caller must call it if
// it does not call Perform.
func (r *Run) Close() { r.strategy.close() }
