// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package wait waits until the objects of a release are ready or gone, and reports why they
// are not (docs/reference.md, "Readiness"). It decides how long to wait and what to tell
// the user. It leaves observing the objects to package watcher, judging them to package
// readiness, and finding the causes of failures to package diagnosis.
package wait

import (
	"context"
	"time"

	"helm.sh/helm/v3/pkg/kube"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/event"
)

// Waiter waits for the objects of one operation. One implementation watches them in the
// cluster. The other, for a Kubernetes client without a cluster, calls the wait methods of
// that client.
type Waiter interface {
	// Nodes returns a Nodes that waits until the nodes of a plan are ready.
	Nodes(c NodesConfig) Nodes
	// Ready waits as Helm's --wait does for a release without an order: until all objects
	// of the list are ready at the same time by Helm's rules. The list has the objects as
	// the server returned them for the write. If objects do not become ready in the
	// cluster, the error is a *failure.DeployError.
	Ready(ctx context.Context, list kube.ResourceList, o ReadyOptions) error
	// Established waits until the API server has accepted the CRDs in list. list has them
	// in the states that the server returned when they were written.
	Established(ctx context.Context, list kube.ResourceList) error
	// Deleted waits until deleted objects are gone. If the list has the UID of an object,
	// another object with the same name does not count. In a cluster, the error names the
	// objects that still exist, and says why.
	Deleted(ctx context.Context, list kube.ResourceList, o DeletedOptions) error
	// Deletions returns a Deletions that waits for objects that are deleted step by step.
	Deletions(ctx context.Context) (Deletions, error)
	// Completions returns a Completions that waits for the objects of hooks. Without a
	// cluster, timeout limits the wait for each hook.
	Completions(ctx context.Context, timeout time.Duration) (Completions, error)
}

// establishTimeout limits the wait until the API server has accepted new CRDs.
const establishTimeout = 60 * time.Second

// watching is the Waiter that watches the objects in a cluster.
type watching struct {
	cluster *cluster.Connection
	events  *event.Sink
	// withoutTimeout calls its argument with a context that ends when the operation is
	// cancelled, but not when it times out. It is used to find the causes of failures.
	withoutTimeout func(func(context.Context))
}

// New returns a Waiter that watches the objects in the cluster of c, and emits their changes
// as events. withoutTimeout calls its argument with a context that ends when the operation is
// cancelled, but not when it times out; it is used to find the causes of failures.
func New(c *cluster.Connection, events *event.Sink, withoutTimeout func(func(context.Context))) Waiter {
	return &watching{cluster: c, events: events, withoutTimeout: withoutTimeout}
}
