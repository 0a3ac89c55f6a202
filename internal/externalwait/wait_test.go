// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package externalwait

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/readiness"
)

// TestReadyAtOnce checks the requests for what is ready when a wait begins.
//   - "Objects that are ready when they are first read cost one request"
//   - "Without a namespace, it is that of the release"
func TestReadyAtOnce(t *testing.T) {
	runTest(t, func(b *fixture) {
		b.put(secrets, secret(namespace, "a"))
		b.put(secrets, secret("infra", "b"))
		b.put(deployments, deployment("web", 1))
		b.put(secrets, revision("data", "kafka", "2", "deployed"))
		w := b.wait(b.Context(), time.Minute, "Secret/a", "Secret/infra/b", "Deployment.apps/web", "Deployment/web", "release:data/kafka", "Secret/a")
		b.expectReady(w, 0)
		if got := b.api.Count("watch secrets") + b.api.Count("watch deployments"); got != 0 {
			t.Errorf("%d watches were opened", got)
		}
		if got, want := len(b.api.Requests()), 5; got != want {
			t.Errorf("got %d requests, want %d: %q", got, want, b.api.Requests())
		}
	})
}

// TestBecomesReady checks waits that succeed because something changes in the cluster.
//   - "It must exist and be ready"
//   - "If the cluster does not serve the kind yet, Ordered Helm waits until it does"
//   - "The newest of its revisions must have the status deployed"
//   - "if the account is not allowed to list and watch them, they are read every two seconds"
//   - "Without a namespace, it is that of the release"
func TestBecomesReady(t *testing.T) {
	for _, c := range []struct {
		name, need    string
		before, after func(b *fixture)
		within        time.Duration
	}{
		{
			name: "an object appears", need: "Secret/infra/a",
			after: func(b *fixture) { b.put(secrets, secret("infra", "a")) },
		},
		{
			name: "an object becomes ready", need: "Deployment/web",
			before: func(b *fixture) { b.put(deployments, deployment("web", 0)) },
			after:  func(b *fixture) { b.put(deployments, deployment("web", 1)) },
		},
		{
			name: "a cluster-scoped object appears", need: "Namespace/infra",
			after: func(b *fixture) {
				b.put(namespaces, "{apiVersion: v1, kind: Namespace, metadata: {name: infra}, status: {phase: Active}}")
			},
		},
		{
			name: "an object may not be watched", need: "Secret/a", within: 2 * time.Second,
			before: func(b *fixture) {
				b.api.Fail("watch secrets", http.StatusForbidden)
				b.api.Fail("list secrets", http.StatusForbidden)
			},
			after: func(b *fixture) { b.put(secrets, secret(namespace, "a")) },
		},
		{
			name: "a kind appears, then the object", need: "Widget.example.com/a", within: 3 * time.Second,
			after: func(b *fixture) {
				b.kinds.serve("example.com/v1", "Widget", "widgets", true)
				time.AfterFunc(3*time.Second-time.Millisecond, func() {
					b.put(widgets, "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a, namespace: shop}}")
				})
			},
		},
		{
			name: "a kind without a group appears with the object", need: "Widget/a", within: 3 * time.Second,
			after: func(b *fixture) {
				b.kinds.serve("example.com/v1", "Widget", "widgets", true)
				b.put(widgets, "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a, namespace: shop}}")
			},
		},
		{
			name: "a release becomes deployed", need: "release:kafka", within: 2 * time.Second,
			before: func(b *fixture) {
				b.put(secrets, revision(namespace, "kafka", "9", "deployed"))
				b.put(secrets, revision(namespace, "kafka", "10", "pending-upgrade"))
			},
			after: func(b *fixture) { b.put(secrets, revision(namespace, "kafka", "10", "deployed")) },
		},
		{
			name: "a release appears in another namespace", need: "release:data/kafka", within: 2 * time.Second,
			before: func(b *fixture) { b.put(secrets, revision(namespace, "kafka", "1", "deployed")) },
			after:  func(b *fixture) { b.put(secrets, revision("data", "kafka", "1", "deployed")) },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			runTest(t, func(b *fixture) {
				if c.before != nil {
					c.before(b)
				}
				w := b.wait(b.Context(), time.Hour, c.need)
				b.expectWaiting(w, time.Minute)
				c.after(b)
				b.expectReady(w, c.within)
				if want := c.need + " Ready"; !slices.Contains(b.reports, want) {
					t.Errorf("got reports %q, want %q", b.reports, want)
				}
			})
		})
	}
}

// TestUnmet checks the errors of waits that fail.
//   - "if several groups have it, that is an error"
//   - "cluster-scoped objects have none"
//   - "The wait fails at once if an object has failed (a Job, for example), or if the account is not allowed to read an object or a release"
//   - "If the time is used up, the error says for each of them that it does not exist, or why it is not ready"
func TestUnmet(t *testing.T) {
	for _, c := range []struct {
		name    string
		needs   []string
		before  func(b *fixture)
		took    time.Duration
		want    string
		reason  string
		timeout time.Duration
	}{
		{
			name: "an object never appears", needs: []string{"Secret/infra/a"}, took: 30 * time.Second, reason: "NotFound",
			want: "Secret/a in namespace infra is an external dependency that was not ready within 30s: not found on the server",
		},
		{
			name: "an object does not become ready", needs: []string{"Deployment/web"}, took: 30 * time.Second,
			before: func(b *fixture) { b.put(deployments, deployment("web", 0)) },
			want:   "Deployment/web is an external dependency that was not ready within 30s: Available: 0/1",
		},
		{
			name: "a kind never appears", needs: []string{"Widget.example.com/a"}, took: 30 * time.Second, reason: "UnknownKind",
			want: "Widget/a is an external dependency that was not ready within 30s: the cluster does not serve the kind Widget.example.com; is its CustomResourceDefinition missing?",
		},
		{
			name: "a kind in another group", needs: []string{"Deployment.example.com/a"}, took: 30 * time.Second, reason: "UnknownKind",
			want: "does not serve the kind Deployment.example.com",
		},
		{
			name: "a release never appears", needs: []string{"release:data/kafka"}, took: 30 * time.Second, reason: "NotFound",
			want: "release/kafka in namespace data is an external dependency that was not deployed within 30s: there is no such release",
		},
		{
			name: "a release has failed", needs: []string{"release:kafka"}, took: 30 * time.Second, reason: "NotDeployed",
			before: func(b *fixture) { b.put(secrets, revision(namespace, "kafka", "3", "failed")) },
			want:   `release/kafka is an external dependency that was not deployed within 30s: its newest revision, 3, has the status "failed", not deployed`,
		},
		{
			name: "an object has failed", needs: []string{"Job/migrate"}, reason: "BackoffLimitExceeded",
			before: func(b *fixture) {
				b.put(jobs, `{apiVersion: batch/v1, kind: Job, metadata: {name: migrate, namespace: shop}, status: {conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded, message: it failed}]}}`)
			},
			want: "Job/migrate is an external dependency that failed",
		},
		{
			name: "an object may not be read", needs: []string{"Deployment/infra/web", "Secret/a"}, reason: "Forbidden",
			before: func(b *fixture) { b.api.Fail("get deployments", http.StatusForbidden) },
			want:   "Deployment/web in namespace infra (Forbidden)",
		},
		{
			name: "a cluster-scoped object may not be read", needs: []string{"Namespace/infra"}, reason: "Forbidden",
			before: func(b *fixture) { b.api.Fail("get namespaces", http.StatusForbidden) },
			want:   `not allowed to get namespaces in the cluster: grant it a ClusterRole for apiGroups: [""], resources: ["namespaces"], verbs: [get, list, watch]`,
		},
		{
			name: "a release may not be read", needs: []string{"release:data/kafka"}, reason: "Forbidden",
			before: func(b *fixture) { b.api.Fail("list secrets", http.StatusForbidden) },
			want:   `not allowed to list secrets in namespace "data": grant it a Role for apiGroups: [""], resources: ["secrets"], verbs: [list]`,
		},
		{
			name: "two groups have the kind", needs: []string{"Cache/a"}, reason: "Invalid",
			want: "several API groups have the kind Cache: a.example.com, b.example.com; write the kind with its group, as in Cache.a.example.com",
		},
		{
			name: "a namespace of a cluster-scoped object", needs: []string{"Namespace/shop/infra"}, reason: "Invalid",
			want: "Namespace/infra is an external dependency that cannot be read: Namespace is cluster-scoped: remove the namespace",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			runTest(t, func(b *fixture) {
				if c.before != nil {
					c.before(b)
				}
				w := b.wait(b.Context(), 30*time.Second, c.needs...)
				unmet := b.expectUnmet(w, time.Hour)
				if w.took != c.took {
					t.Errorf("the wait took %s, want %s", w.took, c.took)
				}
				if !strings.Contains(unmet.Error(), c.want) {
					t.Errorf("got  %s\nwant %s", unmet, c.want)
				}
				if c.reason != "" && unmet.Unmet[0].Reason != c.reason {
					t.Errorf("got the reason %q, want %q", unmet.Unmet[0].Reason, c.reason)
				}
				if timedOut := errors.Is(unmet, context.DeadlineExceeded); timedOut != (c.took > 0) {
					t.Errorf("got the cause %v", unmet.Cause)
				}
			})
		})
	}
}

// TestResources checks the failures that the operation prints.
func TestResources(t *testing.T) {
	runTest(t, func(b *fixture) {
		b.put(deployments, deployment("web", 0))
		unmet := b.expectUnmet(b.wait(b.Context(), time.Minute, "Deployment/web", "release:kafka"), time.Hour)
		list := unmet.Resources()
		if len(list) != 2 || list[0].Resource != "Deployment/web" || list[0].State != string(readiness.InProgress) || list[0].Waited != time.Minute ||
			list[0].Remedy != "to allow more time, increase helm.sh/external-timeout" || list[0].OtherNamespace || list[1].Resource != "release/kafka" {
			t.Errorf("got %+v", list)
		}
		want := "2 resources are not ready: Deployment/web (LessAvailable), release/kafka (NotFound)"
		if got := (&failure.DeployError{Resources: list}).Summary(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if !errors.Is(list, context.DeadlineExceeded) {
			t.Error("the cause is missing")
		}
	})
}

// TestOutage checks that the time in which the API server does not respond does not count for the
// timeout, and that the wait continues after it.
//   - "without the time during which the API server cannot be reached"
func TestOutage(t *testing.T) {
	for _, need := range []string{"Secret/a", "release:kafka", "Widget/a"} {
		t.Run(need, func(t *testing.T) {
			runTest(t, func(b *fixture) {
				w := b.wait(b.Context(), 20*time.Second, need)
				b.expectWaiting(w, 5*time.Second)
				b.transport.RefuseConnections(true)
				b.api.CloseWatches()
				b.kinds.setError(errors.New("connection refused"))
				b.expectWaiting(w, time.Minute)
				b.transport.RefuseConnections(false)
				b.kinds.setError(nil)
				b.kinds.serve("example.com/v1", "Widget", "widgets", true)
				b.put(secrets, secret(namespace, "a"))
				b.put(widgets, "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a, namespace: shop}}")
				b.put(secrets, revision(namespace, "kafka", "1", "deployed"))
				b.expectReady(w, 5*time.Second)
			})
		})
	}
	t.Run("at the start", func(t *testing.T) {
		runTest(t, func(b *fixture) {
			b.put(secrets, secret(namespace, "a"))
			b.transport.RefuseConnections(true)
			w := b.wait(b.Context(), 20*time.Second, "Secret/a", "release:kafka")
			b.expectWaiting(w, time.Minute)
			b.transport.RefuseConnections(false)
			unmet := b.expectUnmet(w, 25*time.Second)
			if len(unmet.Unmet) != 1 || !unmet.Unmet[0].Need.Release {
				t.Errorf("got %v", unmet)
			}
		})
	})
}
