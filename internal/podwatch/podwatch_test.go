// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package podwatch

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordered-helm/helm/internal/fakeapi"
	"github.com/ordered-helm/helm/internal/object"
)

// workloadOf returns a workload with the UID w.
func workloadOf(tb testing.TB, apiVersion, kind, metadata, more string) *unstructured.Unstructured {
	tb.Helper()
	return fakeapi.Object(tb, fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: web, namespace: shop, uid: w%s}%s}", apiVersion, kind, metadata, more))
}

// pod returns a pod with a controller and labels.
func pod(name, controller string, labels map[string]string) *corev1.Pod {
	isController := true
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: labels, OwnerReferences: []metav1.OwnerReference{{UID: "other"}, {UID: types.UID(controller), Controller: &isController}},
	}}
}

// TestSelectPods checks which pods belong to the current generation of a workload.
func TestSelectPods(t *testing.T) {
	hash := appsv1.ControllerRevisionHashLabelKey
	replicaSet := func(uid, revision, controller string) *appsv1.ReplicaSet {
		set := &appsv1.ReplicaSet{ObjectMeta: pod("", controller, nil).ObjectMeta}
		set.UID, set.Annotations = types.UID(uid), map[string]string{revisionAnnotation: revision}
		return set
	}
	deleted := pod("deleted", "w", nil)
	deleted.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	for _, c := range []struct {
		name string
		obj  *unstructured.Unstructured
		sets []*appsv1.ReplicaSet
		pods []*corev1.Pod
		want []string
	}{
		{
			name: "of the newest ReplicaSet of a Deployment", obj: workloadOf(t, "apps/v1", "Deployment", "", ""),
			sets: []*appsv1.ReplicaSet{replicaSet("2", "2", "w"), replicaSet("10", "10", "w"), replicaSet("11", "11", "x")},
			pods: []*corev1.Pod{pod("old", "2", nil), pod("new", "10", nil), pod("other", "11", nil)}, want: []string{"new"},
		},
		{name: "of a Deployment without a ReplicaSet", obj: workloadOf(t, "apps/v1", "Deployment", "", ""), pods: []*corev1.Pod{pod("other", "", nil)}},
		{
			name: "of the update revision of a StatefulSet", obj: workloadOf(t, "apps/v1", "StatefulSet", "", ", status: {updateRevision: b}"),
			pods: []*corev1.Pod{pod("old", "w", map[string]string{hash: "a"}), pod("new", "w", map[string]string{hash: "b"}), pod("other", "x", map[string]string{hash: "b"})},
			want: []string{"new"},
		},
		{name: "of a StatefulSet without revisions", obj: workloadOf(t, "apps/v1", "StatefulSet", "", ""), pods: []*corev1.Pod{pod("a", "w", map[string]string{hash: "a"})}, want: []string{"a"}},
		{
			name: "of the template generation of a DaemonSet",
			obj:  workloadOf(t, "apps/v1", "DaemonSet", ", annotations: {deprecated.daemonset.template.generation: '2'}", ""),
			pods: []*corev1.Pod{pod("old", "w", map[string]string{generationLabel: "1"}), pod("new", "w", map[string]string{generationLabel: "2"}), pod("unlabeled", "w", nil)},
			want: []string{"new", "unlabeled"},
		},
		{name: "of a ReplicaSet, except deleted ones", obj: workloadOf(t, "apps/v1", "ReplicaSet", "", ""), pods: []*corev1.Pod{pod("a", "w", nil), deleted, pod("other", "x", nil)}, want: []string{"a"}},
		{name: "of a ReplicationController", obj: workloadOf(t, "v1", "ReplicationController", "", ""), pods: []*corev1.Pod{pod("a", "w", nil)}, want: []string{"a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, pod := range selectPods(c.obj, c.sets, c.pods) {
				got = append(got, pod.Name)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestPodSelector checks of which kinds the pods are known.
func TestPodSelector(t *testing.T) {
	for _, c := range []struct{ apiVersion, kind, spec, want string }{
		{"apps/v1", "Deployment", "{selector: {matchLabels: {a: b}, matchExpressions: [{key: c, operator: In, values: [d, e]}]}}", "a=b,c in (d,e)"},
		{"apps/v1", "StatefulSet", "{selector: {matchLabels: {a: b}}}", "a=b"},
		{"apps/v1", "DaemonSet", "{selector: {matchLabels: {a: b}}}", "a=b"},
		{"apps/v1", "ReplicaSet", "{selector: {matchLabels: {a: b}}}", "a=b"},
		{"apps/v1", "Deployment", "{selector: {matchLabels: {a: 7}}}", ""},
		{"v1", "ReplicationController", "{selector: {a: b, c: d}}", "a=b,c=d"},
		{"v1", "Service", "{selector: {a: b}}", ""},
		{"x.example/v1", "Deployment", "{selector: {matchLabels: {a: b}}}", ""},
		{"batch/v1", "Job", "{selector: {matchLabels: {a: b}}}", ""},
	} {
		if got := podSelector(workloadOf(t, c.apiVersion, c.kind, "", ", spec: "+c.spec)); got != c.want {
			t.Errorf("%s %s: got %q, want %q", c.kind, c.spec, got, c.want)
		}
	}
}

// TestEventTime checks which field contains the time of an event.
func TestEventTime(t *testing.T) {
	at := func(second int) time.Time { return time.Date(2026, 1, 1, 12, 0, second, 0, time.UTC) }
	old, last := metav1.Time{Time: at(1)}, metav1.Time{Time: at(2)}
	for name, c := range map[string]struct {
		event *corev1.Event
		want  time.Time
	}{
		"a series":              {&corev1.Event{EventTime: metav1.MicroTime{Time: at(1)}, Series: &corev1.EventSeries{LastObservedTime: metav1.MicroTime{Time: at(2)}}}, at(2)},
		"counted":               {&corev1.Event{FirstTimestamp: old, LastTimestamp: last}, at(2)},
		"new":                   {&corev1.Event{EventTime: metav1.MicroTime{Time: at(2)}}, at(2)},
		"only a first time":     {&corev1.Event{FirstTimestamp: last}, at(2)},
		"only that of creation": {&corev1.Event{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: last}}, at(2)},
	} {
		if got := EventTime(c.event); !got.Time.Equal(c.want) {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

// TestFollow checks that pods are observed while watches end and expire, and that workloads in
// one namespace share the watch of events.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fakeapi.NewServer(t)
		w := New(t.Context(), fakeapi.Client(t, "http://127.0.0.1", &fakeapi.Transport{Handler: api}))
		defer w.Close()
		set := workloadOf(t, "apps/v1", "StatefulSet", "", ", spec: {selector: {matchLabels: {app: web}}}")
		put := func(name string) {
			api.Put(object.PodResource(), fakeapi.Object(t, fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: shop, labels: {app: web}, "+
				"ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: web, uid: w, controller: true}]}}", name)))
		}
		follower := w.Follow(t.Context(), set)
		expect := func(want int) {
			t.Helper()
			time.Sleep(3 * time.Second)
			synctest.Wait()
			if s, known := follower.State(set); !known || !s.EventsKnown || len(s.Pods) != want {
				t.Errorf("got %d pods, %v; want %d", len(s.Pods), known, want)
			}
		}
		expect(0)
		put("a")
		expect(1)
		api.CloseWatches()
		put("b")
		expect(2)
		api.Compact()
		api.CloseWatches()
		api.Delete(object.PodResource(), "shop", "a")
		expect(1)
		if w.Follow(t.Context(), workloadOf(t, "v1", "Service", "", "")) != nil {
			t.Error("a Service has pods")
		}
		w.Follow(t.Context(), workloadOf(t, "apps/v1", "ReplicaSet", "", ", spec: {selector: {matchLabels: {app: web}}}"))
		if n := api.Count("list events"); n != 3 { // at the beginning, and after the two ends of the watch
			t.Errorf("events were listed %d times", n)
		}
		w.Close()
		synctest.Wait()
		if n := api.OpenWatches(); n != 0 {
			t.Errorf("%d watches are open after Close", n)
		}
	})
}
