// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package objectwriter

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/fakeapi"
)

func TestDeletePods(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	there := []string{fakeapi.Pod("a1", "a"), fakeapi.Pod("a2", "a"), fakeapi.Pod("b1", "b"), fakeapi.Pod("c1", "c")}
	a, b := "selector: {matchLabels: {app: a}}", "selector: {matchLabels: {app: b}}"
	for _, c := range []struct {
		name    string
		list    []string
		fault   func(fakeapi.ReceivedCall) error
		deleted []string
		err     string
	}{
		{name: "nothing"},
		{name: "those of a Deployment", list: []string{fakeapi.Workload("Deployment", a)}, deleted: []string{"a1", "a2"}},
		{name: "in the order of the list, each once", list: []string{fakeapi.Workload("StatefulSet", b), fakeapi.Workload("Deployment", a), fakeapi.Workload("Service", "selector: {app: a}")}, deleted: []string{"b1", "a1", "a2"}},
		{name: "without a selector", list: []string{fakeapi.ConfigMap("x", ""), fakeapi.Workload("CronJob", ""), fakeapi.Workload("Service", ""), fakeapi.Workload("Widget", a)}},
		{name: "a selector that would mean all", list: []string{fakeapi.Workload("Job", ""), fakeapi.Workload("Deployment", "selector: {}"), fakeapi.Workload("ReplicationController", "")}},
		{name: "gone already", list: []string{fakeapi.Workload("Deployment", a)}, fault: fakeapi.FailFirst("delete", apierrors.NewNotFound(pods, "")), deleted: []string{"one of a1, a2"}},
		{name: "another one by that name", list: []string{fakeapi.Workload("Deployment", a)}, fault: fakeapi.FailFirst("delete", apierrors.NewConflict(pods, "", errors.New("another UID"))), deleted: []string{"one of a1, a2"}},
		{
			name: "not to be deleted", list: []string{fakeapi.Workload("Deployment", a)}, fault: fakeapi.Forbid("delete", "pods/a1"), deleted: []string{"a2"},
			err: `delete pod "a1" in namespace "ns": pods/a1 is forbidden: not allowed`,
		},
		{
			name: "not to be listed", list: []string{fakeapi.Workload("Deployment", a), fakeapi.Workload("StatefulSet", b)}, deleted: []string{"b1"},
			fault: func(c fakeapi.ReceivedCall) error {
				if c.Verb == "list" && c.URL.Query().Get("labelSelector") == "app=a" {
					return fakeapi.Forbidden(c)
				}
				return nil
			},
			err: `list the pods of Deployment "it" in namespace "ns": pods is forbidden: not allowed`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := fakeapi.NewWritableAPI(t)
				api.Have(there...)
				api.Fault = c.fault
				deleted, err := newWriter(t, api).DeletePods(t.Context(), fakeapi.Infos(t, c.list...))
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
					if api.Get(fakeapi.Info(t, fakeapi.Pod(ref.Name, ""))) != nil {
						t.Errorf("%s is still there", ref.Name)
					}
				}
				if n := api.Count("delete"); c.fault == nil && n != len(deleted) {
					t.Errorf("%d deletions of %d pods", n, len(deleted))
				}
				if left := 4 - len(deleted); api.Len() != left {
					t.Errorf("%d pods are left, want %d", api.Len(), left)
				}
			})
		})
	}
}

// TestDeletePodsByUID checks that the listed pods are deleted, but not later pods with the
// same names.
func TestDeletePodsByUID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fakeapi.NewWritableAPI(t)
		api.Have(fakeapi.Pod("a", "a"))
		api.Fault = func(c fakeapi.ReceivedCall) error {
			if c.Verb == "delete" {
				api.Clear()
				api.Have(fakeapi.Pod("a", "a"))
			}
			return nil
		}
		deleted, err := newWriter(t, api).DeletePods(t.Context(), fakeapi.Infos(t, fakeapi.Workload("Deployment", "selector: {matchLabels: {app: a}}")))
		if err != nil || len(deleted) != 0 || api.Len() != 1 {
			t.Errorf("deleted %v, %v, %d are left", deleted, err, api.Len())
		}
	})
}

func TestDeletePodsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fakeapi.NewWritableAPI(t)
		api.Have(fakeapi.Pod("a", "a"))
		ctx, cancel := context.WithCancel(t.Context())
		api.Fault = func(c fakeapi.ReceivedCall) error {
			if c.Verb == "delete" {
				cancel()
			}
			return nil
		}
		deleted, err := newWriter(t, api).DeletePods(ctx, fakeapi.Infos(t, fakeapi.Workload("Deployment", "selector: {matchLabels: {app: a}}")))
		if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "delete pod") || len(deleted) != 0 {
			t.Errorf("deleted %v, %v, which is no pod's fault", deleted, err)
		}
	})
}

func TestDeletePodsWithoutCluster(t *testing.T) {
	deleted, err := NewWithoutCluster(&kube.Client{}).DeletePods(t.Context(), fakeapi.Infos(t, fakeapi.Workload("Deployment", "")))
	if err != nil || deleted != nil {
		t.Errorf("got %v, %v", deleted, err)
	}
}
