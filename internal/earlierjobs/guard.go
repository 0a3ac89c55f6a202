// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package earlierjobs prevents a Job of a chart from running at the same time as an
// unfinished Job that an earlier revision of the release created for the same chart
// (docs/reference.md, "Jobs of earlier revisions"). Jobs are often migrations, which must not
// run twice at the same time. Here, a Job is a Job or a Pod that does not always restart its
// containers.
package earlierjobs

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/field"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/objectwriter"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/wait"
)

// Inventory contains the objects of earlier revisions. *inventory.Inventory implements it.
type Inventory interface {
	// Plans returns the deployment graphs of the revisions, and InfoOf the object of a resource
	// in them, or nil if it cannot exist in the cluster.
	Plans() []*sequencer.Plan
	InfoOf(*sequencer.PlannedResource) *object.Info
	// WhyKeep returns why an object must not be deleted, or "" if it can be deleted. policies
	// is the result of Policies.
	WhyKeep(live *unstructured.Unstructured, policies map[sequencer.ID]string, manifestDecides bool) string
	Policies() map[sequencer.ID]string
}

// Config contains the parameters of New.
type Config struct {
	Cluster cluster.Reader
	Pods    PodReader
	Writer  objectwriter.Writer
	Waiter  wait.Waiter
	Events  *event.Sink
	// Inventory contains the objects of earlier revisions. It must have been read before the
	// first call of a method of Guard.
	Inventory Inventory
	// Plan is the deployment graph of the new revision, and InfoOf returns the object of each
	// of its resources.
	Plan   *sequencer.Plan
	InfoOf func(*sequencer.PlannedResource) *object.Info
	// Namespace is the namespace of the release.
	Namespace string
	// Deadline is the time at which the operation times out; zero if there is no limit.
	Deadline time.Time
	// Stop deletes unfinished Jobs of other revisions instead of waiting for them, as a
	// rollback does. Jobs that have failed are then not created again.
	Stop bool
	// Spared contains the IDs of objects that must not be deleted.
	Spared map[sequencer.ID]bool
}

// Guard decides when the Jobs of a new revision can be written. It implements apply.Deferrer,
// and is safe for concurrent use.
type Guard struct {
	Config

	// declared contains the Jobs of the new revision, and earlier those of earlier revisions.
	// prepare sets them.
	prepareOnce sync.Once
	declared    map[sequencer.ID]declaredJob
	earlier     []*earlierJob
	policies    map[sequencer.ID]string

	// mu guards ended, which contains the Jobs of earlier revisions that no longer run.
	mu    sync.Mutex
	ended map[*earlierJob]bool
}

// declaredJob is a Job that the new revision declares.
type declaredJob struct {
	chart string
	// node is the index of its node in Plan.Nodes.
	node int
}

// earlierJob is a Job that an earlier revision declares.
type earlierJob struct {
	id   sequencer.ID
	info *object.Info
	// charts contains the charts that declare the Job in earlier revisions. If unknownChart
	// is true, other charts may have declared it as well.
	charts       []string
	unknownChart bool
}

// New returns a Guard.
func New(c Config) *Guard { return &Guard{Config: c, ended: map[*earlierJob]bool{}} }

// prepare finds the Jobs of the new revision and those of earlier revisions.
func (g *Guard) prepare() {
	g.prepareOnce.Do(func() {
		g.declared, g.policies = map[sequencer.ID]declaredJob{}, g.Inventory.Policies()
		for i, n := range g.Plan.Nodes {
			for _, res := range n.Resources {
				if info := g.InfoOf(res); info != nil && object.RunsToCompletion(info) {
					g.declared[object.IDOf(info)] = declaredJob{chart: relativeChart(n.Chart), node: i}
				}
			}
		}
		g.findEarlier()
	})
}

func (g *Guard) findEarlier() {
	byID := map[sequencer.ID]*earlierJob{}
	for _, plan := range g.Inventory.Plans() {
		for _, n := range plan.Nodes {
			for _, res := range n.Resources {
				info := g.Inventory.InfoOf(res)
				if info == nil || !object.RunsToCompletion(info) {
					continue
				}
				id := object.IDOf(info)
				job := byID[id]
				if job == nil {
					job = &earlierJob{id: id, info: info}
					byID[id], g.earlier = job, append(g.earlier, job)
				}
				if chart, known := chartOf(n, res); known {
					job.charts = append(job.charts, chart)
				} else {
					job.unknownChart = true
				}
			}
		}
	}
}

// chartOf returns the chart of a resource of an earlier revision, as relativeChart does. The
// node does not name it if that revision was not deployed in order. It is unknown if only the
// identity of the resource is known, or if a post-renderer has removed its Source comment.
func chartOf(n *sequencer.Node, res *sequencer.PlannedResource) (chart string, known bool) {
	if dir, _, found := strings.Cut(res.File, "/templates/"); found {
		return relativeChart(strings.ReplaceAll(dir, "/charts/", "/")), true
	}
	return relativeChart(n.Chart), strings.Contains(n.Chart, "/")
}

// relativeChart returns the path of a chart without the name of the root chart, which may be
// another one in an earlier revision.
func relativeChart(path string) string {
	_, below, _ := strings.Cut(path, "/")
	return below
}

// blockersOf returns the Jobs of earlier revisions that must not run at the same time as a
// Job of the new revision, and that may still run: those of the same chart that the new
// revision does not contain, or deploys only after this Job.
func (g *Guard) blockersOf(id sequencer.ID) []*earlierJob {
	g.prepare()
	job, known := g.declared[id]
	if !known {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	var blockers []*earlierJob
	for _, e := range g.earlier {
		if e.id == id || g.ended[e] || g.Spared[e.id] || !e.unknownChart && !slices.Contains(e.charts, job.chart) {
			continue
		}
		if again, remains := g.declared[e.id]; !remains || g.Plan.ComesAfter(again.node, job.node) {
			blockers = append(blockers, e)
		}
	}
	return blockers
}

func (g *Guard) setEnded(e *earlierJob) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended[e] = true
}

// MustDefer reports whether a Job of the new revision cannot be written yet, because a Job of
// an earlier revision has not finished, or because the Job itself has failed and must be
// deleted first. live is its state in the cluster, or nil if it does not exist. unchanged says
// whether live is as declared.
func (g *Guard) MustDefer(ctx context.Context, info *object.Info, live *unstructured.Unstructured, unchanged bool) (bool, error) {
	if !isJob(info) {
		return false, nil
	}
	if !g.Stop && MustRecreate(info, live) {
		return true, nil
	}
	if unchanged {
		return false, nil
	}
	unfinished, err := g.unfinished(ctx, g.blockersOf(object.IDOf(info)))
	return len(unfinished) > 0, err
}

// isJob reports whether a declared object is a Job in the sense of this package.
func isJob(info *object.Info) bool {
	if !object.RunsToCompletion(info) {
		return false
	}
	declared, err := object.AsUnstructured(info.Object)
	return err == nil && !alwaysRestarts(declared)
}

// alwaysRestarts reports whether an object is a Pod that always restarts its containers.
func alwaysRestarts(obj *unstructured.Unstructured) bool {
	if obj.GetKind() != object.PodKind().Kind {
		return false
	}
	policy := corev1.RestartPolicy(field.String(obj.Object, "spec", "restartPolicy"))
	return policy == "" || policy == corev1.RestartPolicyAlways
}

// MustRecreate reports whether info, an object of the new revision, is a Job that must be
// deleted and created again, because it has failed. live is its state in the cluster, or nil
// if it does not exist.
func MustRecreate(info *object.Info, live *unstructured.Unstructured) bool {
	if live == nil || !isJob(info) || object.PolicyKeeps(object.ResourcePolicy(live)) || object.PolicyKeeps(object.DeclaredResourcePolicy(info)) {
		return false
	}
	return readiness.ComputeCompletion(live).State == readiness.Failed
}

// Prepare waits until the Jobs in list, which MustDefer has deferred, can be written: until no
// container of the earlier Jobs runs. It deletes earlier Jobs of which no container runs, and
// Jobs in list that have failed. If ctx ends first, the error is a failure.Resources.
func (g *Guard) Prepare(ctx context.Context, list kube.ResourceList) error {
	for _, info := range list {
		if err := g.awaitBlockers(ctx, info); err != nil {
			return err
		}
	}
	live, err := g.Cluster.Live(ctx, list)
	if err != nil {
		return err
	}
	var failed kube.ResourceList
	for _, info := range list {
		if !g.Stop && MustRecreate(info, live[info]) {
			failed.Append(object.WithState(info, live[info]))
			g.Events.Warnf("%s has failed: it is deleted and created again", object.Describe(info))
		}
	}
	return g.delete(ctx, failed)
}
