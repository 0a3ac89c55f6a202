// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package earlierjobs

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/inventory"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/objectwriter"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/wait"
	"github.com/ordered-helm/helm/internal/watcher"
)

// fakeCluster contains the Jobs and pods of a cluster. It implements the interfaces with
// which a Guard reads and deletes them.
type fakeCluster struct {
	cluster.Reader
	objectwriter.Writer
	wait.Waiter

	jobs map[string]*unstructured.Unstructured // by name
	pods map[string]*unstructured.Unstructured // by the name of their Job
	// forbidden makes listing pods fail.
	forbidden bool
	// onRead is called before each read of Jobs with the number of reads so far.
	onRead  func(reads int)
	reads   int
	deleted []string
	// keep contains the results of Inventory.WhyKeep, by the name of the Job.
	keep map[string]string
}

func (c *fakeCluster) Live(ctx context.Context, list kube.ResourceList) (map[*object.Info]*unstructured.Unstructured, error) {
	if c.onRead != nil {
		c.onRead(c.reads)
	}
	c.reads++
	live := map[*object.Info]*unstructured.Unstructured{}
	for _, info := range list {
		if job := c.jobs[info.Name]; job != nil {
			live[info] = job
		}
	}
	return live, ctx.Err()
}

func (c *fakeCluster) PodsOf(_ context.Context, _ string, jobs []string) ([]unstructured.Unstructured, error) {
	if c.forbidden {
		return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", nil)
	}
	var pods []unstructured.Unstructured
	for _, job := range jobs {
		if pod := c.pods[job]; pod != nil {
			pods = append(pods, *pod)
		}
	}
	return pods, nil
}

func (c *fakeCluster) Delete(_ context.Context, list kube.ResourceList, _ objectwriter.DeleteOptions) (*objectwriter.DeleteResult, []error) {
	for _, info := range list {
		c.deleted = append(c.deleted, info.Name)
		delete(c.jobs, info.Name)
		delete(c.pods, info.Name)
	}
	return &objectwriter.DeleteResult{Deleted: list, Terminating: list}, nil
}

func (c *fakeCluster) NewDeletionWaiter(context.Context) (wait.DeletionWaiter, error) { return c, nil }

func (c *fakeCluster) Expect(context.Context, kube.ResourceList, kube.ResourceList, metav1.DeletionPropagation) (wait.AwaitGone, error) {
	return func(context.Context, kube.ResourceList, func(watcher.Report)) error { return nil }, nil
}

func (c *fakeCluster) Close() {}

// fakeInventory is an Inventory of plans.
type fakeInventory struct {
	plans []*sequencer.Plan
	keep  map[string]string
}

func (i *fakeInventory) Plans() []*sequencer.Plan { return i.plans }

func (i *fakeInventory) InfoOf(res *sequencer.PlannedResource) *object.Info { return infoOf(res) }

func (i *fakeInventory) Policies() map[sequencer.ID]string { return nil }

func (i *fakeInventory) WhyKeep(live *unstructured.Unstructured, _ map[sequencer.ID]string, _ bool) string {
	return i.keep[live.GetName()]
}

func infoOf(res *sequencer.PlannedResource) *object.Info {
	return &object.Info{
		Name: res.ID.Name, Namespace: "shop",
		Mapping: &meta.RESTMapping{GroupVersionKind: schema.GroupVersionKind{Group: res.ID.Group, Version: "v1", Kind: res.ID.Kind}, Scope: meta.RESTScopeNamespace},
		Object:  &unstructured.Unstructured{Object: res.Object()},
	}
}

// plan builds the deployment graph of a chart shop with a subchart sub. Each resource is
// written as "Kind name layer dependsOn", and has the prefix "sub:" if it belongs to the
// subchart.
func plan(t *testing.T, resources ...string) *sequencer.Plan {
	t.Helper()
	input := sequencer.Input{Root: &sequencer.Chart{Name: "shop", Sequenced: true, Subcharts: []*sequencer.Chart{{Name: "sub", Sequenced: true}}}, Namespace: "shop"}
	for _, text := range resources {
		r := sequencer.Resource{Chart: "shop", File: "shop/templates/all.yaml"}
		text, inSub := strings.CutPrefix(text, "sub:")
		if inSub {
			r.Chart, r.File = "shop/sub", "shop/charts/sub/templates/all.yaml"
		}
		fields := append(strings.Fields(text), "", "")
		annotations := map[string]any{}
		if fields[2] != "" {
			annotations["helm.sh/layer"] = fields[2]
		}
		if fields[3] != "" {
			annotations["depends-on.helm.sh/layers"] = fields[3]
		}
		r.Object = map[string]any{
			"apiVersion": map[string]string{"Job": "batch/v1", "Pod": "v1", "ConfigMap": "v1"}[fields[0]], "kind": fields[0],
			"metadata": map[string]any{"name": fields[1], "annotations": annotations},
		}
		if fields[0] == "Pod" && !strings.HasPrefix(fields[1], "service") {
			r.Object["spec"] = map[string]any{"restartPolicy": "Never"}
		}
		input.Resources = append(input.Resources, r)
	}
	p, err := sequencer.Build(input)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func newGuard(c *fakeCluster, declared *sequencer.Plan, earlier ...*sequencer.Plan) *Guard {
	infos := map[*sequencer.PlannedResource]*object.Info{}
	for _, n := range declared.Nodes {
		for _, res := range n.Resources {
			infos[res] = infoOf(res)
		}
	}
	return New(Config{
		Cluster: c, Pods: c, Writer: c, Waiter: c, Events: event.NewSink(nil, nil), Inventory: &fakeInventory{earlier, c.keep},
		Plan: declared, InfoOf: func(res *sequencer.PlannedResource) *object.Info { return infos[res] }, Namespace: "shop",
	})
}

// info returns the object of the Job or Pod with the given name in the new revision.
func (g *Guard) info(t *testing.T, name string) *object.Info {
	t.Helper()
	for _, n := range g.Plan.Nodes {
		for _, res := range n.Resources {
			if res.ID.Name == name {
				return g.InfoOf(res)
			}
		}
	}
	t.Fatalf("there is no %s", name)
	return nil
}

// TestBlockers checks which Jobs of earlier revisions must have finished before a Job of the
// new revision is written.
func TestBlockers(t *testing.T) {
	unordered := func(*testing.T) *sequencer.Plan {
		return sequencer.Unordered("shop", []sequencer.Resource{
			{Chart: "shop", File: "shop/charts/sub/templates/all.yaml", Object: object.Reference("batch/v1", "Job", "shop", "of-sub")},
			{Chart: "shop", File: "shop/templates/all.yaml", Object: object.Reference("batch/v1", "Job", "shop", "of-root")},
			{Chart: "shop", Object: object.Reference("batch/v1", "Job", "shop", "of-any")},
		}, "shop")
	}
	for name, tt := range map[string]struct {
		declared []string
		earlier  [][]string
		plan     func(*testing.T) *sequencer.Plan // an additional earlier revision
		job      string
		want     []string
	}{
		"the same Job":                    {declared: []string{"Job a"}, earlier: [][]string{{"Job a"}}, job: "a"},
		"another Job":                     {declared: []string{"Job b"}, earlier: [][]string{{"Job a"}}, job: "b", want: []string{"a"}},
		"Jobs of two revisions":           {declared: []string{"Job c"}, earlier: [][]string{{"Job a"}, {"Job b", "ConfigMap x"}}, job: "c", want: []string{"a", "b"}},
		"a Pod":                           {declared: []string{"Job b"}, earlier: [][]string{{"Pod a"}}, job: "b", want: []string{"a"}},
		"of another chart":                {declared: []string{"Job b"}, earlier: [][]string{{"sub:Job a"}}, job: "b"},
		"of the same subchart":            {declared: []string{"sub:Job b"}, earlier: [][]string{{"sub:Job a", "Job x"}}, job: "b", want: []string{"a"}},
		"which comes before in the new":   {declared: []string{"Job a one", "Job b two one"}, earlier: [][]string{{"Job a one"}}, job: "b"},
		"which comes after in the new":    {declared: []string{"Job b one", "Job a two one"}, earlier: [][]string{{"Job a two"}}, job: "b", want: []string{"a"}},
		"which is independent in the new": {declared: []string{"Job b one", "Job a two"}, earlier: [][]string{{"Job a two"}}, job: "b"},
		"in the same node":                {declared: []string{"Job b one", "Job a one"}, earlier: [][]string{{"Job a one"}}, job: "b"},
		"of a revision without an order":  {declared: []string{"Job b"}, plan: unordered, job: "b", want: []string{"of-any", "of-root"}},
		"of a subchart, without an order": {declared: []string{"sub:Job b"}, plan: unordered, job: "b", want: []string{"of-any", "of-sub"}},
		"something else is not held back": {declared: []string{"ConfigMap x"}, earlier: [][]string{{"Job a"}}, job: "x"},
		"a Pod is held back like a Job":   {declared: []string{"Pod b"}, earlier: [][]string{{"Job a"}}, job: "b", want: []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			var earlier []*sequencer.Plan
			for _, resources := range tt.earlier {
				earlier = append(earlier, plan(t, resources...))
			}
			if tt.plan != nil {
				earlier = append(earlier, tt.plan(t))
			}
			g := newGuard(&fakeCluster{}, plan(t, tt.declared...), earlier...)
			var got []string
			for _, e := range g.blockersOf(object.IDOf(g.info(t, tt.job))) {
				got = append(got, e.info.Name)
			}
			slices.Sort(got)
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func object1(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		t.Fatal(err)
	}
	return obj
}

// job returns a Job of the cluster, whose UID is its name, with a status in YAML.
func job(t *testing.T, name, status string) *unstructured.Unstructured {
	t.Helper()
	obj := object1(t, "{apiVersion: batch/v1, kind: Job, metadata: {namespace: shop}, status: "+status+"}")
	obj.SetName(name)
	obj.SetUID(types.UID(name))
	return obj
}

// podOf returns a pod of the Job with the given name and UID, with a status in YAML.
func podOf(t *testing.T, job, uid, status string) *unstructured.Unstructured {
	t.Helper()
	return object1(t, "{apiVersion: v1, kind: Pod, metadata: {name: x, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: "+job+", uid: "+uid+", controller: true}]}, status: "+status+"}")
}

const (
	complete  = "{conditions: [{type: Complete, status: 'True'}]}"
	hasFailed = "{conditions: [{type: Failed, status: 'True'}]}"
	active    = "{active: 1}"
	runs      = "{phase: Running, containerStatuses: [{state: {running: {}}}]}"
	waits     = "{phase: Pending, containerStatuses: [{state: {waiting: {reason: ImagePullBackOff}}}]}"
	initRuns  = "{phase: Pending, initContainerStatuses: [{state: {running: {}}}], containerStatuses: [{state: {waiting: {}}}]}"
)

// TestPrepare checks what happens to an unfinished Job a of an earlier revision before the Job
// b of the same chart is written, and that b is not written while a container of a runs.
func TestPrepare(t *testing.T) {
	for name, tt := range map[string]struct {
		cluster *fakeCluster
		stop    bool
		defers  bool
		deleted []string
		// endsAfter is the number of reads after which the containers of a stop; 0 if they run
		// forever.
		endsAfter int
		fails     string
	}{
		"complete":        {cluster: &fakeCluster{jobs: map[string]*unstructured.Unstructured{"a": job(t, "a", complete)}}},
		"failed":          {cluster: &fakeCluster{jobs: map[string]*unstructured.Unstructured{"a": job(t, "a", hasFailed)}}},
		"does not exist":  {cluster: &fakeCluster{}},
		"without pods":    {cluster: &fakeCluster{jobs: map[string]*unstructured.Unstructured{"a": job(t, "a", "{}")}}, defers: true, deleted: []string{"a"}},
		"does not start":  {cluster: &fakeCluster{jobs: map[string]*unstructured.Unstructured{"a": job(t, "a", active)}, pods: map[string]*unstructured.Unstructured{"a": podOf(t, "a", "a", waits)}}, defers: true, deleted: []string{"a"}},
		"runs, then ends": {cluster: &fakeCluster{jobs: map[string]*unstructured.Unstructured{"a": job(t, "a", active)}, pods: map[string]*unstructured.Unstructured{"a": podOf(t, "a", "a", runs)}}, defers: true, endsAfter: 5},
		"runs forever": {
			cluster: &fakeCluster{jobs: map[string]*unstructured.Unstructured{"a": job(t, "a", active)}, pods: map[string]*unstructured.Unstructured{"a": podOf(t, "a", "a", runs)}}, defers: true,
			fails: "Job/a was still running when the operation timed out after 1m0s: it belongs to an earlier revision, and Job/b must not run at the same time",
		},
		"an init container runs": {cluster: &fakeCluster{jobs: map[string]*unstructured.Unstructured{"a": job(t, "a", active)}, pods: map[string]*unstructured.Unstructured{"a": podOf(t, "a", "a", initRuns)}}, defers: true, fails: "still running"},
		"a pod of another Job":   {cluster: &fakeCluster{jobs: map[string]*unstructured.Unstructured{"a": job(t, "a", active)}, pods: map[string]*unstructured.Unstructured{"a": podOf(t, "a", "other", runs)}}, defers: true, deleted: []string{"a"}},
		"was deleted, but runs":  {cluster: &fakeCluster{pods: map[string]*unstructured.Unstructured{"a": podOf(t, "a", "a", runs)}}, defers: true, fails: "still running"},
		"pods cannot be listed":  {cluster: &fakeCluster{jobs: map[string]*unstructured.Unstructured{"a": job(t, "a", active)}, forbidden: true}, defers: true, fails: "still running"},
		"not of the release":     {cluster: &fakeCluster{jobs: map[string]*unstructured.Unstructured{"a": job(t, "a", active)}, keep: map[string]string{"a": "of another release"}}},
		"kept, does not run":     {cluster: &fakeCluster{jobs: map[string]*unstructured.Unstructured{"a": job(t, "a", active)}, keep: map[string]string{"a": inventory.KeptByPolicy}}},
		"kept, runs":             {cluster: &fakeCluster{jobs: map[string]*unstructured.Unstructured{"a": job(t, "a", active)}, pods: map[string]*unstructured.Unstructured{"a": podOf(t, "a", "a", runs)}, keep: map[string]string{"a": inventory.KeptByPolicy}}, defers: true, fails: "still running"},
		"runs, in a rollback":    {cluster: &fakeCluster{jobs: map[string]*unstructured.Unstructured{"a": job(t, "a", active)}, pods: map[string]*unstructured.Unstructured{"a": podOf(t, "a", "a", runs)}}, stop: true, defers: true, deleted: []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := tt.cluster
				c.onRead = func(reads int) {
					if tt.endsAfter > 0 && reads == tt.endsAfter {
						c.jobs["a"] = job(t, "a", complete)
					}
				}
				g := newGuard(c, plan(t, "Job b migrate", "ConfigMap last last migrate"), plan(t, "Job a"))
				g.Stop = tt.stop
				ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, &failure.TimeoutError{Limit: time.Minute})
				defer cancel()
				info := g.info(t, "b")
				defers, err := g.MustDefer(ctx, info, nil, false)
				if err != nil || defers != tt.defers {
					t.Fatalf("it is deferred: %v (%v)", defers, err)
				}
				if !defers {
					return
				}
				err = g.Prepare(ctx, kube.ResourceList{info})
				if !slices.Equal(c.deleted, tt.deleted) {
					t.Errorf("deleted: %v, want %v", c.deleted, tt.deleted)
				}
				if tt.fails == "" {
					if err != nil || tt.endsAfter > 0 && c.reads < tt.endsAfter {
						t.Errorf("error %v after %d reads", err, c.reads)
					}
					return
				}
				var failures failure.Resources
				if !errors.As(err, &failures) || !strings.Contains(err.Error(), tt.fails) || !errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("error %v, want %q", err, tt.fails)
				}
				if failures[0].Node != "shop:migrate" || !strings.Contains(failures[0].Remedy, "increase --timeout") {
					t.Errorf("%+v", failures[0])
				}
				if live := maps.Clone(c.jobs); live["a"] != nil && !strings.HasSuffix(failures[0].Remedy, "to end it, run: kubectl delete job a --namespace shop") {
					t.Errorf("the advice is %q", failures[0].Remedy)
				}
			})
		})
	}
}

// TestFailedJobs checks which Jobs of the new revision are deleted, so that they can be created
// again.
func TestFailedJobs(t *testing.T) {
	kept := job(t, "a", hasFailed)
	kept.SetAnnotations(map[string]string{kube.ResourcePolicyAnno: kube.KeepPolicy})
	for name, tt := range map[string]struct {
		live      *unstructured.Unstructured
		unchanged bool
		rollback  bool
		recreated bool
	}{
		"failed":                 {live: job(t, "a", hasFailed), unchanged: true, recreated: true},
		"failed, and changed":    {live: job(t, "a", hasFailed), recreated: true},
		"failed, in a rollback":  {live: job(t, "a", hasFailed), unchanged: true, rollback: true},
		"failed, but to be kept": {live: kept, unchanged: true},
		"complete":               {live: job(t, "a", complete), unchanged: true},
		"running":                {live: job(t, "a", active), unchanged: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := &fakeCluster{jobs: map[string]*unstructured.Unstructured{"a": tt.live}}
			g := newGuard(c, plan(t, "Job a"), plan(t, "Job a"))
			g.Stop = tt.rollback
			info := g.info(t, "a")
			defers, err := g.MustDefer(t.Context(), info, tt.live, tt.unchanged)
			if err != nil || defers != tt.recreated {
				t.Fatalf("it is deferred: %v (%v)", defers, err)
			}
			if err := g.Prepare(t.Context(), kube.ResourceList{info}); err != nil || slices.Contains(c.deleted, "a") != tt.recreated {
				t.Errorf("deleted: %v (%v)", c.deleted, err)
			}
		})
	}
}
