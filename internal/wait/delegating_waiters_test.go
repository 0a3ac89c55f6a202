// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"io"
	"math"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	kubefake "helm.sh/helm/v3/pkg/kube/fake"

	"github.com/ordered-helm/helm/internal/fakeapi"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// waitingClient records the arguments of WaitWithJobs.
type waitingClient struct {
	kubefake.PrintingKubeClient
	names   []string
	timeout time.Duration
}

func (c *waitingClient) WaitWithJobs(list kube.ResourceList, timeout time.Duration) error {
	c.names, c.timeout = fakeapi.Names(list), timeout
	return nil
}

// TestDelegatedWait checks how long a custom Kubernetes client waits for a node with
// dependents and at the end, and for which objects. It cannot find out whether they stand
// still.
func TestDelegatedWait(t *testing.T) {
	for _, c := range []struct {
		name     string
		timeouts Timeouts
		want     time.Duration
	}{
		{"a readiness timeout", Timeouts{Operation: time.Minute, Readiness: 5 * time.Second, Standstill: 10 * time.Second}, 5 * time.Second},
		{"no readiness timeout", Timeouts{Operation: time.Minute, Standstill: 10 * time.Second}, time.Minute},
		{"no timeout", Timeouts{Standstill: 10 * time.Second}, math.MaxInt64},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := &waitingClient{PrintingKubeClient: kubefake.PrintingKubeClient{Out: io.Discard}}
			node := &sequencer.Node{Awaited: true}
			w := NewWithoutCluster(client).NewNodeWaiter(NodeWaiterConfig{
				Jobs: true, Timeouts: c.timeouts, HasEnded: func(info, _ *object.Info) bool { return info.Name == "ended" },
			})
			defer w.Close()
			list := fakeapi.Infos(t, fakeapi.ConfigMap("app", ""), fakeapi.ConfigMap("ended", ""))
			if err := w.Follow(t.Context(), node, list); err != nil {
				t.Fatal(err)
			}
			if err := w.Applied(node, object.LiveObjects{}); err != nil {
				t.Fatal(err)
			}
			if err := w.Await(t.Context(), node); err != nil {
				t.Fatal(err)
			}
			if client.timeout != c.want || len(client.names) != 2 {
				t.Errorf("waited for %q for %s, want %s", client.names, client.timeout, c.want)
			}
			if err := w.AwaitLeaves(t.Context(), list); err != nil {
				t.Fatal(err)
			}
			if client.timeout != c.timeouts.Operation || len(client.names) != 1 {
				t.Errorf("waited for %q at the end for %s, want %s", client.names, client.timeout, c.timeouts.Operation)
			}
		})
	}
}
