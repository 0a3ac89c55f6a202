// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

func pod(name, label string) string {
	return "{apiVersion: v1, kind: Pod, metadata: {name: " + name + ", labels: {app: " + label + "}}}"
}

func workload(kind, spec string) string {
	version := map[string]string{"Deployment": "apps/v1", "StatefulSet": "apps/v1", "Job": "batch/v1", "CronJob": "batch/v1"}[kind]
	if version == "" {
		version = "v1"
	}
	return "{apiVersion: " + version + ", kind: " + kind + ", metadata: {name: it}, spec: {" + spec + "}}"
}

func TestRecreatePods(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	there := []string{pod("a1", "a"), pod("a2", "a"), pod("b1", "b"), pod("c1", "c")}
	a, b := "selector: {matchLabels: {app: a}}", "selector: {matchLabels: {app: b}}"
	for _, c := range []struct {
		name    string
		list    []string
		fault   func(call) error
		deleted []string
		err     string
	}{
		{name: "nothing"},
		{name: "those of a Deployment", list: []string{workload("Deployment", a)}, deleted: []string{"a1", "a2"}},
		{name: "in the order of the list, each once", list: []string{workload("StatefulSet", b), workload("Deployment", a), workload("Service", "selector: {app: a}")}, deleted: []string{"b1", "a1", "a2"}},
		{name: "without a selector", list: []string{settings("x", ""), workload("CronJob", ""), workload("Service", ""), workload("Widget", a)}},
		{name: "a selector that would mean all", list: []string{workload("Job", ""), workload("Deployment", "selector: {}"), workload("ReplicationController", "")}},
		{name: "gone already", list: []string{workload("Deployment", a)}, fault: first("delete", apierrors.NewNotFound(pods, "")), deleted: []string{"one of a1, a2"}},
		{name: "another one by that name", list: []string{workload("Deployment", a)}, fault: first("delete", apierrors.NewConflict(pods, "", errors.New("another UID"))), deleted: []string{"one of a1, a2"}},
		{
			name: "not to be deleted", list: []string{workload("Deployment", a)}, fault: refuse("delete", "pods/a1"), deleted: []string{"a2"},
			err: `delete pod "a1" in namespace "ns": pods/a1 is forbidden: not allowed`,
		},
		{
			name: "not to be listed", list: []string{workload("Deployment", a), workload("StatefulSet", b)}, deleted: []string{"b1"},
			fault: func(c call) error {
				if c.verb == "list" && c.URL.Query().Get("labelSelector") == "app=a" {
					return forbidden(c)
				}
				return nil
			},
			err: `list the pods of Deployment "it" in namespace "ns": pods is forbidden: not allowed`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := newFakeAPI(t)
				api.have(there...)
				api.fault = c.fault
				deleted, err := api.client().RecreatePods(t.Context(), objects(t, c.list...))
				if (err != nil || c.err != "") && (err == nil || err.Error() != c.err) {
					t.Errorf("got %v, want %s", err, c.err)
				}
				if len(deleted) != len(c.deleted) {
					t.Fatalf("deleted %v, want %v", deleted, c.deleted)
				}
				for i, ref := range deleted {
					if !strings.Contains(c.deleted[i], ref.Name) || ref.Namespace != "ns" || ref.UID == "" {
						t.Errorf("deleted %v, want %v", deleted, c.deleted)
					}
					if api.now(parseObject(t, pod(ref.Name, ""))) != nil {
						t.Errorf("%s is still there", ref.Name)
					}
				}
				if n := api.count("delete"); c.fault == nil && n != len(deleted) {
					t.Errorf("%d deletions of %d pods", n, len(deleted))
				}
				if left := 4 - len(deleted); len(api.objects) != left {
					t.Errorf("%d pods are left, want %d", len(api.objects), left)
				}
			})
		})
	}
}

// TestRecreatePodsSparesSuccessors deletes the pods that it saw, and not those
// that came to their names meanwhile.
func TestRecreatePodsSparesSuccessors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFakeAPI(t)
		api.have(pod("a", "a"))
		api.fault = func(c call) error {
			if c.verb == "delete" {
				api.mu.Lock()
				api.objects = map[string]*unstructured.Unstructured{}
				api.mu.Unlock()
				api.have(pod("a", "a"))
			}
			return nil
		}
		deleted, err := api.client().RecreatePods(t.Context(), objects(t, workload("Deployment", "selector: {matchLabels: {app: a}}")))
		if err != nil || len(deleted) != 0 || len(api.objects) != 1 {
			t.Errorf("deleted %v, %v, %d are left", deleted, err, len(api.objects))
		}
	})
}

func TestRecreatePodsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFakeAPI(t)
		api.have(pod("a", "a"))
		ctx, cancel := context.WithCancel(t.Context())
		api.fault = func(c call) error {
			if c.verb == "delete" {
				cancel()
			}
			return nil
		}
		deleted, err := api.client().RecreatePods(ctx, objects(t, workload("Deployment", "selector: {matchLabels: {app: a}}")))
		if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "delete pod") || len(deleted) != 0 {
			t.Errorf("deleted %v, %v, which is no pod's fault", deleted, err)
		}
	})
}

func TestRecreatePodsPlayed(t *testing.T) {
	deleted, err := New(&kube.Client{}, nil, nil).RecreatePods(t.Context(), objects(t, workload("Deployment", "")))
	if err != nil || deleted != nil {
		t.Errorf("got %v, %v", deleted, err)
	}
}

// TestClientsAreMadeOnce keeps them, but not the failure to make one.
func TestClientsAreMadeOnce(t *testing.T) {
	client := newFakeAPI(t).client()
	one, err := client.Dynamic()
	if err != nil {
		t.Fatal(err)
	}
	other, err := client.Dynamic()
	if err != nil || one != other {
		t.Errorf("made two, %v", err)
	}
	if observer, err := client.Observer(); err != nil || observer == one {
		t.Errorf("the observer is no client of its own, %v", err)
	}
	var kept once[dynamic.Interface]
	failure := errors.New("no configuration")
	if _, err := kept.get(func() (dynamic.Interface, error) { return one, failure }); !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
	if got, err := kept.get(func() (dynamic.Interface, error) { return one, nil }); err != nil || got != one {
		t.Errorf("got %v, %v", got, err)
	}
}
