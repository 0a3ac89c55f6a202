// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package externalwait

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/watcher/notice"
)

func TestCheck(t *testing.T) {
	runTest(t, func(b *fixture) {
		b.put(secrets, secret(namespace, "a"))
		b.put(deployments, deployment("web", 0))
		b.put(secrets, revision(namespace, "kafka", "1", "deployed"))
		b.api.Fail("get jobs", http.StatusForbidden)
		needs := b.needs("Secret/a", "Secret/infra/a", "Deployment/web", "release:kafka", "release:data/kafka", "Widget/a", "Cache/a", "Job/x", "Service/a")
		statuses, err := b.waiter.Check(b.Context(), needs)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i, s := range statuses {
			if s.Need != needs[i] {
				t.Errorf("got the status of %s, want %s", s.Need, needs[i])
			}
			got = append(got, fmt.Sprintf("%s %s", s.State, s.Reason))
		}
		want := []string{
			"Ready Ready", "Missing NotFound", "InProgress LessAvailable", "Ready Deployed", "Missing NotFound", "Missing UnknownKind", "InProgress Invalid", "InProgress Forbidden", "Missing NotFound",
		}
		if !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
		if n := b.api.Count("watch secrets"); n != 0 {
			t.Errorf("%d watches were opened", n)
		}
		b.transport.RefuseConnections(true)
		if _, err := b.waiter.Check(b.Context(), needs); err == nil {
			t.Error("got no error although the API server is away")
		}
	})
}

// TestKindWithoutGroup checks which kind is meant if no group is written: that of a built-in group, although another group has a
// kind with the same name, or that of the only group.
//   - "A kind without a group is that of a built-in API group or, if none has it, of the only other group that has it"
func TestKindWithoutGroup(t *testing.T) {
	service := schema.GroupVersionResource{Version: "v1", Resource: "services"}
	runTest(t, func(b *fixture) {
		b.kinds.serve("example.com/v1", "Widget", "widgets", true)
		b.put(service, "{apiVersion: v1, kind: Service, metadata: {name: a, namespace: shop}, spec: {type: ClusterIP, clusterIP: 10.0.0.1}}")
		b.put(widgets, "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a, namespace: shop}}")
		b.expectReady(b.wait(b.Context(), time.Minute, "Service/a", "Widget/a"), 0)
		w := b.wait(b.Context(), time.Minute, "Service.serving.example.dev/a")
		b.expectWaiting(w, time.Second)
		_ = b.expectUnmet(w, time.Minute)
	})
}

// TestWithoutCluster checks that objects count as ready if there is no cluster.
func TestWithoutCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t, func(c *Config) { c.Cluster = nil })
		defer b.waiter.Close()
		b.expectReady(b.wait(t.Context(), 0, "Secret/a", "Widget/b"), 0)
		if statuses, err := b.waiter.Check(t.Context(), b.needs("Secret/a")); err != nil || statuses[0].State != readiness.Ready {
			t.Errorf("got %+v, %v", statuses, err)
		}
	})
}

// TestNotices checks that notices of the watcher are passed on.
func TestNotices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var notices []notice.Kind
		b := newFixture(t, func(c *Config) {
			c.Notify = func(n notice.Notice) { notices = append(notices, n.Kind) }
		})
		defer b.waiter.Close()
		b.transport.RefuseConnections(true)
		b.put(secrets, secret(namespace, "a"))
		w := b.wait(t.Context(), 0, "Secret/a")
		b.expectWaiting(w, 10*time.Second)
		b.transport.RefuseConnections(false)
		b.expectReady(w, 10*time.Second)
		if want := []notice.Kind{notice.Unreachable, notice.Reachable}; !slices.Equal(notices, want) {
			t.Errorf("got %v", notices)
		}
	})
}
