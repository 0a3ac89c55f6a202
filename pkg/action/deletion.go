// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/watcher"
)

// keeps reports whether a resource policy keeps an object. A policy that nobody
// knows keeps as well: what somebody meant to keep must not be lost for a slip of
// the pen.
func keeps(policy string) bool {
	switch strings.ToLower(strings.TrimSpace(policy)) {
	case "", "delete":
		return false
	}
	return true
}

// policyOf is the resource policy that an object declares; none if revisions
// declared it differently, so that the newest of them decides.
func policyOf(info *kubeInfo) string {
	object, ok := info.Object.(*unstructured.Unstructured)
	if !ok {
		return ""
	}
	policy := object.GetAnnotations()[kube.ResourcePolicyAnno]
	if policy == cluster.Undecided {
		return ""
	}
	return policy
}

// uninstallOrder sorts resources into Helm's uninstall order of kinds.
func uninstallOrder(resources []*sequencer.PlannedResource) []*sequencer.PlannedResource {
	rank := func(res *sequencer.PlannedResource) int {
		if i := slices.Index(releaseutil.UninstallOrder, res.ID.Kind); i >= 0 {
			return i
		}
		return len(releaseutil.UninstallOrder)
	}
	sorted := slices.Clone(resources)
	slices.SortStableFunc(sorted, func(a, b *sequencer.PlannedResource) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.ID.Kind, b.ID.Kind))
	})
	return sorted
}

// asLongAsItTakes has awaitDeleted wait until the operation ends.
const asLongAsItTakes = time.Duration(-1)

// deletionWait waits until objects are gone.
type deletionWait struct {
	cluster *cluster.Client
	// tracker is one that others use, too; nil where there is no cluster.
	tracker *watcher.Watcher
	// timeout is how long it waits at most.
	timeout time.Duration
	// onChange, if not nil, is told what becomes of the objects.
	onChange func(context.Context, watcher.Report)
}

// run returns when all objects are gone. The error names what is not, and why.
func (w *deletionWait) run(ctx context.Context, list kube.ResourceList) error {
	if w.tracker == nil {
		return w.cluster.PlayWaitDeleted(list, w.timeout)
	}
	live, err := w.cluster.Live(ctx, list)
	if err != nil || len(live) == 0 {
		return err
	}
	if w.timeout != asLongAsItTakes {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.timeout)
		defer cancel()
	}
	var targets []watcher.Target
	for _, info := range list {
		if live[info] != nil {
			targets = append(targets, targetOf(info, cluster.UID(info)))
		}
	}
	var onChange func(watcher.Report)
	if w.onChange != nil {
		onChange = func(report watcher.Report) { w.onChange(ctx, report) }
	}
	_, err = w.tracker.WaitDeleted(ctx, targets, onChange)
	return err
}
