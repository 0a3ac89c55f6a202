// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/record"
	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/pkg/sequencer"
)

// removal deletes the objects of a release, in reverse order where it was
// deployed in one.
type removal struct {
	*Uninstall
	cluster *cluster.Client
	events  *events
	plan    *sequencer.Plan
	// files are the documents of the manifest in Helm's uninstall order, those
	// to keep apart.
	files, keep []releaseutil.Manifest
	// keptIDs are the resources of the plan that are kept: items of lists too.
	keptIDs []sequencer.ID

	mu      sync.Mutex
	list    kube.ResourceList // what was deleted
	tracker *readiness.Tracker
}

// ReleasePlan rebuilds the graph by which a release was deployed from what the
// release remembers; nil if it was not deployed in order.
func ReleasePlan(rel *release.Release) (*Plan, error) {
	rec, err := record.Read(rel)
	if err != nil || rec == nil || !rec.Sequenced {
		return nil, err
	}
	resources, err := render.Resources(rel.Manifest, rec.Documents, rec.Root, false)
	if err != nil {
		return nil, err
	}
	return sequencer.Build(sequencer.Input{Root: rec.Root, Resources: resources, Namespace: rel.Namespace})
}

func (op *uninstallation) planRemoval() (*removal, error) {
	r := &removal{Uninstall: op.Uninstall, cluster: op.cluster, events: op.events}
	if !op.IgnoreOrder {
		plan, err := ReleasePlan(op.rel)
		if err != nil {
			return nil, fmt.Errorf("uninstall: %w: use --wait=false to remove everything at once", err)
		}
		r.plan = plan
	}
	_, files, err := releaseutil.SortManifests(releaseutil.SplitManifests(op.rel.Manifest), nil, releaseutil.UninstallOrder)
	if err != nil {
		op.cfg.Log("uninstall: Failed to delete release: %s", err)
		return nil, fmt.Errorf("failed to delete release: %s", op.rel.Name)
	}
	r.keep, r.files = splitKept(files)
	if r.ordered() {
		r.planKept()
		r.Wait = r.Wait || op.WaitStrategy == WaitStrategyOrdered
	}
	return r, nil
}

func (r *removal) ordered() bool { return r.plan != nil }

// splitKept takes out the documents that the resource policy keeps. A policy
// that nobody knows keeps as well: what somebody meant to keep must not be
// lost for a slip of the pen.
func splitKept(files []releaseutil.Manifest) (keep, remove []releaseutil.Manifest) {
	for _, f := range files {
		if f.Head.Metadata != nil && keeps(f.Head.Metadata.Annotations[kube.ResourcePolicyAnno]) {
			keep = append(keep, f)
		} else {
			remove = append(remove, f)
		}
	}
	return keep, remove
}

func keeps(policy string) bool {
	switch strings.ToLower(strings.TrimSpace(policy)) {
	case "", "delete":
		return false
	}
	return true
}

// kept lists what was kept, for people.
func (r *removal) kept() string {
	var b strings.Builder
	if r.ordered() {
		for _, id := range r.keptIDs {
			fmt.Fprintf(&b, "[%s] %s\n", id.Kind, id.Name)
		}
		return b.String()
	}
	for _, f := range r.keep {
		fmt.Fprintf(&b, "[%s] %s\n", f.Head.Kind, f.Head.Metadata.Name)
	}
	return b.String()
}

// planKept notes, in the order of the plan, what the policy keeps of it.
func (r *removal) planKept() {
	for _, n := range r.plan.Nodes {
		for _, res := range n.Resources {
			if keeps(res.Policy) {
				r.keptIDs = append(r.keptIDs, res.ID)
			}
		}
	}
}

// deleted lists the objects that were deleted.
func (r *removal) deleted() kube.ResourceList {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.list
}

func (r *removal) close() {
	if r.tracker != nil {
		r.tracker.Close()
	}
}

func (r *removal) run(ctx context.Context) error {
	if r.ordered() {
		return r.inReverse(ctx)
	}
	return r.atOnce(ctx)
}

// atOnce deletes everything, as Helm does.
func (r *removal) atOnce(ctx context.Context) error {
	var manifest strings.Builder
	for _, f := range r.files {
		manifest.WriteString("\n---\n" + f.Content)
	}
	list, err := r.cluster.Build([]byte(manifest.String()), false)
	if err != nil {
		return fmt.Errorf("unable to build kubernetes objects for delete: %w", err)
	}
	r.list = list
	return errors.Join(r.cluster.Delete(ctx, list, r.propagation())...)
}
