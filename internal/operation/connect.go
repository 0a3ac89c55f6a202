// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"

	"helm.sh/helm/v3/pkg/kube"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/hooks"
	"github.com/ordered-helm/helm/internal/objectwriter"
	"github.com/ordered-helm/helm/internal/wait"
)

// connect sets the parts of the operation that work in a different way for Helm's own
// Kubernetes client, for a custom client (one that a program which embeds Helm has set) with
// a cluster, and for a client without a cluster, such as a fake. This is the only place
// where the three are told apart. Requests to the cluster end with ctx.
func (op *Operation) connect(ctx context.Context) {
	if op.options.NoCluster || op.config.RESTClientGetter == nil {
		client := op.config.KubeClient
		op.Cluster, op.Writer = cluster.NewWithoutCluster(client), objectwriter.NewWithoutCluster(client)
		op.Waiter, op.hookLogs, op.delegates = wait.NewWithoutCluster(client), hooks.NewCustomLogReader(client), true
		return
	}
	client, getter := cluster.WithContext(ctx, op.config.KubeClient, op.config.RESTClientGetter, op.MayChange, op.warnUnanswered)
	connection := cluster.Connect(getter, op.Events.RedactLog(op.Log))
	op.Waiter = wait.New(connection, op.Events, op.WithoutTimeout)
	if helm, ok := client.(*kube.Client); ok {
		op.Cluster, op.Writer, op.hookLogs = cluster.New(helm, connection), objectwriter.New(connection), hooks.NewLogReader(connection)
		return
	}
	op.Cluster, op.Writer = cluster.NewCustom(client, connection), objectwriter.NewCustom(client, connection)
	op.hookLogs, op.delegates = hooks.NewCustomLogReader(client), true
}

// Delegates reports whether a custom Kubernetes client, or one without a cluster, changes
// the objects. An operation without an order must then make only those calls that Helm would
// make. In particular, it does not delete or recover what earlier ordered revisions have
// left, because the client deletes obsolete objects itself when it updates a release, and
// need not support anything else. Everything else that depends on the client is behind the
// interfaces of Cluster, Writer and Waiter.
func (op *Operation) Delegates() bool { return op.delegates }
