// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"

	"helm.sh/helm/v3/pkg/kube"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/earlierjobs"
	"github.com/ordered-helm/helm/internal/hooks"
	"github.com/ordered-helm/helm/internal/objectwriter"
	"github.com/ordered-helm/helm/internal/recreation"
	"github.com/ordered-helm/helm/internal/wait"
)

// connect sets the fields of op that depend on the kind of Kubernetes client: Helm's own
// client, a custom client that a program which embeds Ordered Helm has set, or a client
// without a cluster, such as a fake. No other code distinguishes these three. Requests to
// the cluster end with ctx.
func (op *Operation) connect(ctx context.Context) {
	if op.options.NoCluster || op.config.RESTClientGetter == nil {
		client := op.config.KubeClient
		op.Cluster, op.Writer = cluster.NewWithoutCluster(client), objectwriter.NewWithoutCluster(client)
		op.Waiter, op.hookLogs, op.delegates = wait.NewWithoutCluster(client), hooks.NewCustomLogReader(client), true
		return
	}
	client, getter := cluster.WithContext(ctx, op.config.KubeClient, op.config.RESTClientGetter, op.MayChange, op.warnNoResponse)
	connection := cluster.Connect(getter, op.Events.RedactLog(op.Log))
	op.connection = connection
	op.Waiter = wait.New(connection, op.Events, op.WithoutTimeout)
	if helm, ok := client.(*kube.Client); ok {
		op.Cluster, op.Writer, op.hookLogs = cluster.New(helm, connection), objectwriter.NewRequestWriter(connection), hooks.NewLogReader(connection)
		op.jobPods, op.copies = earlierjobs.NewPodReader(connection), recreation.NewStorage(connection.Clientset)
		return
	}
	op.Cluster, op.Writer = cluster.NewCustom(client, connection), objectwriter.NewCustom(client, connection)
	op.hookLogs, op.delegates = hooks.NewCustomLogReader(client), true
}

// Delegates reports whether objects are changed by calling a custom Kubernetes client, or a
// client without a cluster. An operation without an order must then call only those methods
// of the client that Helm would call, because a custom client need not support any others.
// In particular, the operation does not delete or recover what earlier ordered revisions
// have left.
func (op *Operation) Delegates() bool { return op.delegates }
