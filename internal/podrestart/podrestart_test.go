// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package podrestart

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/fakeapi"
	"github.com/ordered-helm/helm/internal/readiness"
)

func TestConfirmReady(t *testing.T) {
	isReady := readiness.Status{State: readiness.Ready, Reason: "Ready"}
	pods := func(name, metadata, condition string) string {
		return strings.Replace(fakeapi.Pod(name, "a"), "labels:", metadata+"labels:", 1)[:len(fakeapi.Pod(name, "a"))+len(metadata)-1] + ", status: {conditions: [{type: Scheduled, status: 'True'}, " + condition + "]}}"
	}
	up, down := "{type: Ready, status: 'True'}", "{type: Ready, status: 'False'}"
	selects := "selector: {matchLabels: {app: a}}"
	with := func(manifest, status string) string {
		return strings.TrimSuffix(manifest, "}") + ", status: {" + status + "}}"
	}
	for _, c := range []struct {
		name, workload string
		pods           []string
		fault          func(fakeapi.ReceivedCall) error
		verdict        readiness.Status
		state          readiness.State
		message        string
		lists          int
	}{
		{name: "as many as it says", workload: with(fakeapi.Workload("Deployment", selects), "readyReplicas: 1"), pods: []string{pods("new", "", up)}, state: readiness.Ready, lists: 1},
		{name: "a status from before", workload: with(fakeapi.Workload("Deployment", selects), "readyReplicas: 1"), pods: []string{pods("new", "", down)}, state: readiness.InProgress, message: "its pods were deleted; new pods ready: 0 of 1", lists: 1},
		{name: "none is made so far", workload: with(fakeapi.Workload("StatefulSet", selects), "readyReplicas: 2"), pods: []string{pods("other", "", up)}, state: readiness.InProgress, message: "its pods were deleted; new pods ready: 1 of 2", lists: 1},
		{
			name: "one on its way out", workload: with(fakeapi.Workload("Deployment", selects), "readyReplicas: 1"), state: readiness.InProgress, message: "its pods were deleted; new pods ready: 0 of 1", lists: 1,
			pods: []string{pods("old", "deletionTimestamp: '2024-01-01T00:00:00Z', finalizers: [x], ", up)},
		},
		{name: "those of others", workload: with(fakeapi.Workload("Deployment", selects), "readyReplicas: 1"), pods: []string{strings.ReplaceAll(pods("x", "", up), "app: a", "app: b")}, state: readiness.InProgress, message: "ready: 0 of 1", lists: 1},
		{name: "on every node", workload: strings.Replace(with(fakeapi.Workload("Deployment", selects), "numberReady: 1"), "Deployment", "DaemonSet", 1), state: readiness.InProgress, message: "ready: 0 of 1", lists: 1},
		{name: "it wants none", workload: with(fakeapi.Workload("Deployment", selects), "replicas: 0"), state: readiness.Ready},
		{name: "what selects pods of others", workload: with(fakeapi.Workload("Service", "selector: {app: a}"), "loadBalancer: {}"), state: readiness.Ready},
		{name: "what selects none", workload: with(fakeapi.ConfigMap("x", ""), "readyReplicas: 1"), state: readiness.Ready},
		{name: "not ready anyway", workload: with(fakeapi.Workload("Deployment", selects), "readyReplicas: 1"), verdict: readiness.Status{State: readiness.InProgress, Message: "some"}, state: readiness.InProgress, message: "some"},
		{name: "not to be listed", workload: with(fakeapi.Workload("Deployment", selects), "readyReplicas: 1"), fault: fakeapi.Forbid("list", ""), state: readiness.Ready, lists: 1},
		{
			name: "without an answer", workload: with(fakeapi.Workload("Deployment", selects), "readyReplicas: 1"), state: readiness.InProgress, message: "cannot count its pods", lists: 1,
			fault: func(fakeapi.ReceivedCall) error { return errors.New("no route to host") },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := fakeapi.NewWritableAPI(t)
				api.Have(c.pods...)
				api.Fault = c.fault
				info := fakeapi.Info(t, c.workload)
				if c.verdict.State == "" {
					c.verdict = isReady
				}
				got := confirmReady(t.Context(), cluster.Connect(api.Getter(), t.Logf), info, info.Object.(*unstructured.Unstructured), c.verdict)
				if got.State != c.state || !strings.Contains(got.Message, c.message) || (got.State == c.verdict.State) != (got.RecheckAfter == 0) {
					t.Errorf("got %+v", got)
				}
				if n := api.Count("list"); n != c.lists {
					t.Errorf("%d lists, want %d", n, c.lists)
				}
			})
		})
	}
}
