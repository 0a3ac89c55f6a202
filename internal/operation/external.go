// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"os"

	"github.com/ordered-helm/helm/internal/externalwait"
	"github.com/ordered-helm/helm/internal/releasestatus"
)

// ExternalWaiter returns a waiter for the external dependencies of a release in a namespace, which calls report when
// their status changes. The caller must close it.
func (op *Operation) ExternalWaiter(namespace string, report func(externalwait.Status)) *externalwait.Waiter {
	stored := releasestatus.Options{
		// Helm reads the variable, too, when it connects to the database.
		Storage: op.config.Releases, Namespace: namespace, ConnectionString: os.Getenv("HELM_DRIVER_SQL_CONNECTION_STRING"),
	}
	if op.connection != nil {
		stored.Metadata, stored.Dynamic = op.connection.Metadata, op.connection.Dynamic
	}
	return externalwait.New(externalwait.Config{
		Cluster: op.connection, Releases: releasestatus.New(stored), Namespace: namespace,
		Report: report, Notify: op.Events.Notice, Redactor: op.Events.Redactor, WithoutTimeout: op.WithoutTimeout,
	})
}
