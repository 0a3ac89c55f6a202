// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package wait waits until the objects of a release are ready or no longer exist, and reports
// why they are not (docs/reference.md, "Readiness"). It decides for how long to wait and what
// to tell the user. Package watcher watches the objects, package readiness decides whether
// they are ready, and package diagnosis finds the causes if they are not.
package wait

import (
	"context"
	"time"

	"helm.sh/helm/v3/pkg/kube"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/event"
)

// Waiter waits for the objects of one operation. New returns the implementation that watches
// the objects in a cluster. NewWithoutCluster returns the one that calls the wait methods of
// a custom Kubernetes client.
type Waiter interface {
	// NewNodeWaiter returns a NodeWaiter for the nodes of a deployment graph.
	NewNodeWaiter(c NodeWaiterConfig) NodeWaiter
	// WaitReady waits as Helm's --wait does, for a release without an order: until all
	// objects of list are ready by Helm's rules at the same time. list contains the objects
	// as the server returned them when they were written. If objects do not become ready in
	// the cluster, the error is a *failure.DeployError.
	WaitReady(ctx context.Context, list kube.ResourceList, o WaitReadyOptions) error
	// WaitEstablished waits until the API server serves the CRDs in list, which contains
	// them as the server returned them when they were written.
	WaitEstablished(ctx context.Context, list kube.ResourceList) error
	// WaitDeleted waits until deleted objects no longer exist. If list contains the UID of
	// an object, another object with the same name is ignored. In a cluster, the error says
	// which objects still exist, and why.
	WaitDeleted(ctx context.Context, list kube.ResourceList, o WaitDeletedOptions) error
	// NewDeletionWaiter returns a DeletionWaiter for objects that are deleted in steps.
	NewDeletionWaiter(ctx context.Context) (DeletionWaiter, error)
	// NewHookWaiter returns a HookWaiter for the objects of hooks. timeout limits the wait
	// for each hook, but only without a cluster; otherwise the contexts limit the waits.
	NewHookWaiter(ctx context.Context, timeout time.Duration) (HookWaiter, error)
}

// EstablishTimeout limits the wait until the API server serves new CRDs.
const EstablishTimeout = 60 * time.Second

// watchingWaiter is the Waiter that watches the objects in a cluster.
type watchingWaiter struct {
	cluster *cluster.Connection
	events  *event.Sink
	// withoutTimeout calls its argument with a context that ends when the operation is
	// canceled, but not when it times out. It is used to find the causes of failures.
	withoutTimeout func(func(context.Context))
}

// New returns a Waiter that watches the objects in the cluster of c, and emits their changes
// as events. withoutTimeout must call its argument with a context that ends when the
// operation is canceled, but not when it times out; it is used to find causes of failures.
func New(c *cluster.Connection, events *event.Sink, withoutTimeout func(func(context.Context))) Waiter {
	return &watchingWaiter{cluster: c, events: events, withoutTimeout: withoutTimeout}
}
